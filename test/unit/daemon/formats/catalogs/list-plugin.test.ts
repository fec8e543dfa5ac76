import { describe, expect, it } from 'vitest';
import type { FileChange } from '../../../../../src/daemon/formats/catalogs/catalog-plugin.ts';
import { figuresOf, type FileFigures } from '../../../../../src/daemon/formats/catalogs/file-figures.ts';
import { createListPlugin, type ListRule } from '../../../../../src/daemon/formats/catalogs/list-plugin.ts';

const FIELDS: ListRule['fields'] = { path: 'Name', size: ['Size'], checksums: ['Crc', 'Hash', 'XX'] };
const JSON_RULE: ListRule = {
  name: 'list',
  matches: (path) => path.endsWith('/list.json'),
  format: 'json',
  fields: FIELDS,
};

function changeOf(path: string): FileChange {
  return {
    path,
    before: figuresOf([Buffer.from('official')]),
    after: figuresOf([Buffer.from('patched file')]),
  };
}
const { before: OLD, after: NEW } = changeOf('');
const decimal = (digits: string): string => String(BigInt(`0x${digits}`));

const jsonList = ({ size, checksums }: FileFigures): string =>
  `\uFEFF{ "Files" : [\r\n {"Crc":${decimal(checksums.crc32)}, "Name":"Android\\\\あ.bundle","Size":${size},` +
  `"Hash":"${checksums.md5.toUpperCase()}","XX": ${decimal(checksums.xxh64)}, "Rest":[1.50]},\n` +
  ` {"Name":"other","Size":${OLD.size},"Crc":0,"Hash":""} ]}`;
const table = ({ size, checksums }: FileFigures, delimiter: string): string =>
  [
    ['Name', 'Size', 'Crc', 'Hash'],
    ['x', '8', '9', ''],
    ['a.zip', `"${size}"`, decimal(checksums.crc32), `"${checksums.sha256}"`],
  ]
    .map((row) => row.join(delimiter))
    .join('\r\n');

describe('the plug-in of lists by rule', () => {
  it('writes size and checksums of a patched file into JSON, and no other byte', async () => {
    const plugin = createListPlugin(JSON_RULE);
    expect([plugin.recognizes('root/list.json'), plugin.recognizes('root/other.json')]).toEqual([
      true,
      false,
    ]);
    const changes = [changeOf('root/Android/あ.bundle'), changeOf('root/missing')];
    const { bytes, rewritten } = await plugin.rewrite('root/list.json', Buffer.from(jsonList(OLD)), changes);
    expect(Buffer.from(bytes).toString()).toBe(jsonList(NEW));
    expect([...rewritten]).toEqual(['root/Android/あ.bundle']);
  });

  it.for([
    ['csv', ','],
    ['tsv', '\t'],
  ] as const)('writes them into tables: %s', async ([format, delimiter]) => {
    const plugin = createListPlugin({ ...JSON_RULE, format, folderOf: () => 'files/' });
    const { bytes } = await plugin.rewrite('list', Buffer.from(table(OLD, delimiter)), [
      changeOf('files/a.zip'),
    ]);
    expect(Buffer.from(bytes).toString()).toBe(table(NEW, delimiter));
  });

  it('refuses a value that no known algorithm gives for the official file', async () => {
    const plugin = createListPlugin({ ...JSON_RULE, folderOf: () => '' });
    for (const [name, value] of [
      ['Size', '1'],
      ['Size', '"many"'],
      ['Crc', '17'],
      ['Crc', '-17'],
      ['Hash', '"d41d8cd98f00b204e9800998ecf8427e"'],
    ]) {
      const list = Buffer.from(`[{"Name":"x","${name}":${value}}]`);
      const rewrite = plugin.rewrite('list', list, [changeOf('x')]);
      await expect(rewrite).rejects.toMatchObject({ code: 'catalog_not_rewritten', fieldPath: 'x' });
    }
  });
});
