import { describe, expect, it } from 'vitest';
import type { FileChange } from '../../../../../src/daemon/formats/catalogs/catalog-plugin.ts';
import { figuresOf, type FileFigures } from '../../../../../src/daemon/formats/catalogs/file-figures.ts';
import { GAME_LIST_PLUGINS } from '../../../../../src/daemon/formats/catalogs/game-list-plugins.ts';

function changeOf(path: string): FileChange {
  return {
    path,
    before: figuresOf([Buffer.from(`official ${path}`)]),
    after: figuresOf([Buffer.from(`the patched ${path}`)]),
  };
}

const decimal = (digits: string): number => Number(BigInt(`0x${digits}`));
const facts = ({ size, checksums }: FileFigures) => ({ Size: size, Crc: decimal(checksums.crc32) });

describe('the JSON catalogs of games', () => {
  it.for([
    [
      'T/TableCatalog.json',
      'T/a.zip',
      (file: FileFigures) => ({ Table: { a: { Name: 'a.zip', ...facts(file) } } }),
    ],
    [
      'M/Catalog/MediaCatalog.json',
      'M/x/a.zip',
      (file: FileFigures) => ({
        Table: {
          a: { Path: 'x\\a.zip', FileName: 'a.zip', Bytes: file.size, Crc: decimal(file.checksums.crc32) },
        },
      }),
    ],
    [
      'A/bundleDownloadInfo.json',
      'A/x.bundle',
      (file: FileFigures) => ({ BundleFiles: [{ Name: 'x.bundle', ...facts(file), IsPrologue: false }] }),
    ],
  ] as const)('list files: %s', async ([path, file, write]) => {
    const change = changeOf(file);
    const plugins = GAME_LIST_PLUGINS.filter((plugin) => plugin.recognizes(path));
    expect(plugins).toHaveLength(1);
    const bytes = Buffer.from(JSON.stringify(write(change.before)));
    const result = await plugins[0]!.rewrite(path, bytes, [change, changeOf('other')]);
    expect(Buffer.from(result.bytes).toString()).toBe(JSON.stringify(write(change.after)));
    expect([...result.rewritten]).toEqual([file]);
  });

  it('list packs, and the bundles in each pack under one name', async () => {
    const path = 'A_PatchPack/BundlePackingInfo.json';
    const [one, two] = ['one.zip', 'two.zip'].map((name) => `A_PatchPack/${name}`) as [string, string];
    const changes = [one, `${one}!/x.bundle`, `${two}!/x.bundle`].map(changeOf);
    const other = figuresOf([Buffer.from('other')]);
    const write = (form: 'before' | 'after'): string => {
      const [pack, first, second] = changes.map((change) => change[form]) as [
        FileFigures,
        FileFigures,
        FileFigures,
      ];
      const inside = (file: FileFigures) => ({
        Name: 'x.bundle',
        ...facts(file),
        FileHash: decimal(file.checksums.xxh32),
        Signature: file.checksums.md5,
      });
      const packed = (name: string, file: FileFigures, bundle: FileFigures) => ({
        PackName: name,
        PackSize: file.size,
        Crc: decimal(file.checksums.crc32),
        BundleFiles: [inside(bundle)],
      });
      return JSON.stringify({
        Milestone: 'm',
        FullPatchPacks: [packed('one.zip', pack, first)],
        UpdatePacks: [packed('two.zip', other, second)],
      });
    };
    const plugin = GAME_LIST_PLUGINS.find((each) => each.recognizes(path))!;
    const result = await plugin.rewrite(path, Buffer.from(write('before')), changes);
    expect(Buffer.from(result.bytes).toString()).toBe(write('after'));
    expect(result.rewritten).toEqual(new Set(changes.map((change) => change.path)));
  });
});
