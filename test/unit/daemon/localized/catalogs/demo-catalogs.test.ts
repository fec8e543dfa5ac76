import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demoCatalogs } from '../../../../../src/cli/dev/demo/catalogs/demo-catalogs.ts';
import { writeDemoRelease } from '../../../../../src/cli/dev/demo-release.ts';
import { bytesSource } from '../../../../../src/daemon/formats/byte-source.ts';
import { READ_LIMITS } from '../../../../../src/daemon/formats/value-visitor.ts';
import { openZip } from '../../../../../src/daemon/formats/zip/open-zip.ts';
import { bundlesOfJson } from '../../../../support/addressables-catalogs.ts';
import { editOf } from '../../../../support/frozen-edits.ts';
import { patchBytes, unitsOf } from '../../../../support/patch-bytes.ts';
import { contentHash, rewriteRelease, statedBundle } from '../../../../support/rewritten-release.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const RELEASE = '1.67.412528-r89_demo';

async function readTree(directory: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(directory.length + 1), await readFile(path));
  }
  return files;
}

/** Patches a file of the demo: its first texts get another wording. */
async function patched(destination: string, content: Buffer): Promise<Buffer> {
  const units = await unitsOf(destination, content);
  const edits = units.slice(0, 3).map((unit) => editOf(unit, `${unit.sourceText} は`));
  const { bytes } = await patchBytes(destination, content, edits);
  if (bytes === null) throw new Error(`${destination} is not patched`);
  return bytes;
}

describe('the catalogs of the demo release', () => {
  it('state what the generator would state for the patched files', async () => {
    const directory = await temporaryDirectory();
    await writeDemoRelease(join(directory, 'demo'), RELEASE);
    const official = await readTree(join(directory, 'demo'));
    const bundle = [...official.keys()].find((path) => path.includes('scenario-chapter0'))!;
    const changes = new Map<string, Buffer>();
    for (const path of [
      bundle,
      'TableBundles/Excel00.zip',
      'TableBundles/Localize000.csv',
      'TableBundles/ExcelDB.db',
    ]) {
      changes.set(path, await patched(path, official.get(path)!));
    }
    const result = await rewriteRelease(Object.fromEntries(official), Object.fromEntries(changes));
    const catalogs = [
      'TableBundles/TableCatalog.bytes',
      'TableBundles/TableCatalog.hash',
      'Windows_PatchPack/catalog_Windows.hash',
      'Windows_PatchPack/catalog_Windows.zip',
    ];
    expect([...result.keys()].toSorted()).toEqual([...changes.keys(), ...catalogs].toSorted());
    // The generator lists all files in a folder; it never lists its own catalogs.
    for (const [path, bytes] of official) {
      if (catalogs.includes(path) || !path.startsWith('TableBundles/')) continue;
      const copy = join(directory, 'copy', path);
      await mkdir(dirname(copy), { recursive: true });
      await writeFile(copy, changes.get(path) ?? bytes);
    }
    const wanted = await demoCatalogs(join(directory, 'copy'), RELEASE);
    for (const path of catalogs.slice(0, 2)) expect(result.get(path)).toEqual(wanted.get(path));
    const archive = (bytes: Buffer): Buffer => {
      const zip = openZip(bytesSource(bytes), READ_LIMITS);
      return zip.readEntry(zip.entries[0]!);
    };
    const [before, after] = [official, result].map((files) =>
      archive(files.get('Windows_PatchPack/catalog_Windows.zip')!),
    ) as [Buffer, Buffer];
    expect(result.get(catalogs[2]!)!.toString()).toBe(createHash('md5').update(after).digest('hex'));
    const bytes = changes.get(bundle)!;
    const name = bundle.slice(bundle.indexOf('/') + 1);
    const { crc, size } = statedBundle(name, bytes, '');
    expect(bundlesOfJson(after.toString())).toEqual(
      bundlesOfJson(before.toString()).map((old) =>
        old.internalId.endsWith(name) ? { ...old, hash: contentHash(bytes), crc, size } : old,
      ),
    );
  });
});
