import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeBundle } from '../../demo/game/unity/write-bundle.ts';
import { bytesSource } from '../../src/formats/byte-source.ts';
import type { CatalogPlugin } from '../../src/formats/catalogs/catalog-plugin.ts';
import { bundleDigests } from '../../src/formats/unity/bundle-digests.ts';
import { openBundle } from '../../src/formats/unity/bundle.ts';
import { READ_LIMITS } from '../../src/formats/value-visitor.ts';
import { catalogsConfigurationSchema } from '../../src/localization/localized/localized-config.ts';
import { catalogPlugins, ignoreTest } from '../../src/localization/localized/catalogs/catalog-program.ts';
import type { ReleaseFile } from '../../src/localization/localized/catalogs/release-files.ts';
import { rewriteCatalogs } from '../../src/localization/localized/catalogs/rewrite-catalogs.ts';
import { compileRules } from '../../src/localization/parse/rules/compile-rules.ts';
import type { LoadedRules } from '../../src/localization/parse/rules/load-rules.ts';
import type { CatalogBundle } from '../../demo/game/catalogs/addressables-json.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Contents by destination. */
export type Contents = Readonly<Record<string, string | Uint8Array>>;

/** The rules of a parser without rules. */
export const NO_RULES: LoadedRules = {
  configuration: { rules: [], sourceScript: 'japanese', stableNames: [] },
  secrets: new Map(),
  files: new Map(),
};

/** Writes the files of a release where the official one and the patched ones differ. */
export async function storeRelease(
  official: Contents,
  patched: Contents,
): Promise<{ readonly files: readonly ReleaseFile[]; readonly outputDirectory: string }> {
  const root = await temporaryDirectory();
  const folders = ['official', 'patched', 'work'].map((name) => join(root, name));
  for (const folder of folders) mkdirSync(folder);
  const store = (folder: string | undefined, index: number, content: string | Uint8Array): string => {
    const path = join(folder ?? root, String(index));
    writeFileSync(path, content);
    return path;
  };
  const files = Object.entries(official).map(([destination, content], index) => ({
    destination,
    official: store(folders[0], index, content),
    patched: patched[destination] === undefined ? null : store(folders[1], index, patched[destination]),
  }));
  return { files, outputDirectory: folders[2] ?? root };
}

/** Rewrites the catalogs of a release; returns the files that differ from the official ones. */
export async function rewriteRelease(
  official: Contents,
  patched: Contents,
  {
    catalogs = {},
    rules = NO_RULES,
    plugins = [],
    keepsChanged = false,
  }: {
    readonly catalogs?: unknown;
    readonly rules?: LoadedRules;
    /** Plug-ins besides those of the configuration. */
    readonly plugins?: readonly CatalogPlugin[];
    /** Whether catalogs that the patched files change stay as they are. */
    readonly keepsChanged?: boolean;
  } = {},
): Promise<Map<string, Buffer>> {
  const { files, outputDirectory } = await storeRelease(official, patched);
  const configuration = catalogsConfigurationSchema.parse(catalogs);
  const { files: rewritten } = await rewriteCatalogs({
    files,
    changed: files.flatMap((file) => (file.patched === null ? [] : [{ ...file, patched: file.patched }])),
    plugins: [...catalogPlugins(configuration), ...plugins],
    isIgnored: ignoreTest(configuration),
    passwords: compileRules(rules),
    known: null,
    keepsChanged,
    outputDirectory,
  });
  const bytesOf = new Map(
    rewritten.map(
      ({ destination, name }) => [destination, readFileSync(join(outputDirectory, name))] as const,
    ),
  );
  return new Map(
    files.flatMap(({ destination, patched: path }) => {
      const bytes = bytesOf.get(destination) ?? (path === null ? null : readFileSync(path));
      return bytes === null ? [] : [[destination, bytes] as const];
    }),
  );
}

/** A bundle of Unity with one file in it. */
export function sampleBundle(content: string): Buffer {
  return writeBundle([{ name: 'CAB-1', bytes: Buffer.from(content.repeat(20)) }]);
}

/** How catalogs of Addressables state a bundle. */
export function statedBundle(name: string, bytes: Buffer, hash: string): CatalogBundle {
  const { crc32 } = bundleDigests(openBundle(bytesSource(bytes), READ_LIMITS));
  return {
    internalId: `http://cdn.example/${name}`,
    bundleName: name,
    hash,
    crc: crc32 ?? 0,
    size: bytes.length,
  };
}

/** The hash that a patched bundle has in catalogs. */
export function contentHash(bytes: Buffer): string {
  return Buffer.from(bundleDigests(openBundle(bytesSource(bytes), READ_LIMITS)).contentHash).toString('hex');
}
