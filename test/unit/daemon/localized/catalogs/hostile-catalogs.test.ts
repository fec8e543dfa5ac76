import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bytesSource } from '../../../../../src/daemon/formats/byte-source.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import { PatchError } from '../../../../../src/daemon/formats/patch/patch-error.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { openZip } from '../../../../../src/daemon/formats/zip/open-zip.ts';
import { parseConfigurationSchema } from '../../../../../src/daemon/parse/rules/parse-config.ts';
import { jsonCatalog } from '../../../../../src/cli/dev/demo/catalogs/addressables-json.ts';
import { binaryCatalog, bundlesOfJson } from '../../../../support/addressables-catalogs.ts';
import { encryptZipEntry } from '../../../../support/encrypt-zip-entry.ts';
import { mediaCatalog, tableCatalog } from '../../../../support/game-catalogs.ts';
import { campaignSize } from '../../../../support/long.ts';
import { mutations } from '../../../../support/mutate.ts';
import {
  contentHash,
  NO_RULES,
  rewriteRelease,
  sampleBundle,
  statedBundle,
  type Contents,
} from '../../../../support/rewritten-release.ts';
import { writeZip } from '../../../../support/write-zip.ts';
import { zipOf } from '../../../../support/zip-of.ts';

const HASH = 'cd'.repeat(16);
const [OFFICIAL, PATCHED] = [sampleBundle('おはよう'), sampleBundle('Good morning, all of you')];
const stated = (name: string, bytes: Buffer) => ({ name, size: bytes.length, crc: crc32(bytes) });

/** A release with every kind of catalog, and one patched bundle. */
async function sampleRelease(): Promise<Contents> {
  const json = jsonCatalog([statedBundle('x.bundle', OFFICIAL, HASH)]);
  const archive = await zipOf({ 'catalog.json': json, 'notes.txt': 'x.bundle is loaded first' });
  const tables = tableCatalog([stated('x.bundle', OFFICIAL), stated('catalogs.zip', archive)], null);
  return {
    'A/x.bundle': OFFICIAL,
    'A/x.bundle.manifest': `ManifestFileVersion: 0\nCRC: ${statedBundle('x.bundle', OFFICIAL, HASH).crc}\n`,
    'A/catalogs.zip': archive,
    'A/catalog.bin': binaryCatalog([statedBundle('x.bundle', OFFICIAL, HASH)]),
    'A/TableCatalog.bytes': tables,
    'A/TableCatalog.hash': String(crc32(tables)),
    'A/Catalog/MediaCatalog.bytes': mediaCatalog([stated('x.bundle', OFFICIAL)]),
    'A/list.json': JSON.stringify([{ Name: 'x.bundle', Size: OFFICIAL.length }]),
  };
}

const LISTS = [{ files: ['**/list.json'], format: 'json', path: 'Name', size: ['Size'] }];
const PATCH = { 'A/x.bundle': PATCHED };

describe('the catalogs of a hostile release', () => {
  it('are rewritten or refused, without another error or a hang', async () => {
    const release = await sampleRelease();
    const catalogs = Object.keys(release).filter((path) => path !== 'A/x.bundle');
    const counts = { refused: 0, rewritten: 0 };
    const count = campaignSize(8, 400);
    for (const [index, path] of catalogs.entries()) {
      for (const damaged of mutations(Buffer.from(release[path]!), { seed: 160 + index, count })) {
        try {
          await rewriteRelease({ ...release, [path]: damaged }, PATCH, { catalogs: { lists: LISTS } });
          counts.rewritten += 1;
        } catch (error) {
          if (!(error instanceof PatchError || error instanceof FormatError)) throw error;
          counts.refused += 1;
        }
      }
    }
    expect(counts.refused).toBeGreaterThan(catalogs.length);
    expect(counts.rewritten).toBeGreaterThan(catalogs.length);
  });

  it('stay as they are when they state the new figures already', async () => {
    const release = await sampleRelease();
    const options = { catalogs: { lists: LISTS } };
    const changed = await rewriteRelease(release, PATCH, options);
    expect([...changed.keys()].toSorted()).toEqual(Object.keys(release).toSorted());
    expect(await rewriteRelease(release, Object.fromEntries(changed), options)).toEqual(changed);
  });

  it('are searched only so deep, and left alone where an archive cannot be read', async () => {
    const list = `x.bundle ${crc32(OFFICIAL)}`;
    let archive = await zipOf({ 'list.txt': list });
    const release = { 'x.bundle': OFFICIAL, 'cut.zip': archive.subarray(0, -4) };
    expect((await rewriteRelease(release, { 'x.bundle': PATCHED })).size).toBe(1);
    for (let depth = 1; depth < 4; depth += 1) {
      const refused = rewriteRelease({ ...release, 'a.zip': archive }, { 'x.bundle': PATCHED });
      await expect(refused).rejects.toMatchObject({
        fieldPath: `a.zip!/${'b.zip!/'.repeat(depth - 1)}list.txt`,
      });
      archive = await zipOf({ 'b.zip': archive });
    }
    for (let depth = 4; depth < 6; depth += 1) archive = await zipOf({ 'b.zip': archive });
    expect((await rewriteRelease({ ...release, 'a.zip': archive }, { 'x.bundle': PATCHED })).size).toBe(1);
  });

  it('are read with the passwords of the parser, and stay encrypted', async () => {
    const password = Buffer.from('secret');
    const entry = encryptZipEntry(
      'catalog.json',
      Buffer.from(jsonCatalog([statedBundle('x.bundle', OFFICIAL, HASH)])),
      password,
    );
    const release = { 'x.bundle': OFFICIAL, 'a.zip': writeZip([entry]) };
    const rules = {
      ...NO_RULES,
      configuration: {
        ...NO_RULES.configuration,
        rules: parseConfigurationSchema.parse({
          secrets: { key: '/nowhere' },
          rules: [{ destination: ['a.zip'], password: 'key' }],
        }).rules,
      },
      secrets: new Map([['key', password]]),
    };
    const changed = await rewriteRelease(release, { 'x.bundle': PATCHED }, { rules });
    const archive = openZip(bytesSource(changed.get('a.zip')!), READ_LIMITS);
    expect(() => archive.readEntry(archive.entries[0]!)).toThrow(FormatError);
    const catalog = archive.readEntry(archive.entries[0]!, password).toString();
    expect(bundlesOfJson(catalog)[0]!.hash).toBe(contentHash(PATCHED));
    // Without the password nobody can tell that it is a catalog.
    expect((await rewriteRelease(release, { 'x.bundle': PATCHED })).size).toBe(1);
  });
});
