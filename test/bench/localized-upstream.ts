import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeTextRelease } from '../support/text-release.ts';

/** The catalog of the release: a list of all files with their sizes and checksums. */
export const CATALOG = 'catalog.json';

/** How the daemon finds and rewrites {@link CATALOG}. */
export const CATALOG_LIST = {
  files: [CATALOG],
  format: 'json',
  folder: '',
  path: 'Name',
  size: ['Size'],
  checksums: ['Md5'],
};

interface ListedFile {
  readonly Name: string;
  readonly Size: number;
  readonly Md5: string;
}

/** A folder with a release of text files, whose next release has one other text in each of some files. */
export interface LocalizedUpstream {
  /** The files of text, in the order of their numbers; the first of each format is large. */
  readonly files: readonly string[];
  /** Writes the next release. */
  change(count: number): Promise<void>;
}

/** Writes a release of text files and its catalog. */
export async function writeLocalizedUpstream(
  directory: string,
  size: { readonly containers: number; readonly units: number },
): Promise<LocalizedUpstream> {
  await writeTextRelease(directory, size);
  const files = (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath.slice(directory.length + 1)}/${name}`)
    .toSorted((left, right) => numberOf(left) - numberOf(right));
  const listed = new Map<string, ListedFile>();
  const list = async (name: string): Promise<void> => {
    const bytes = await readFile(join(directory, name));
    listed.set(name, {
      Name: name,
      Size: bytes.length,
      Md5: createHash('md5').update(bytes).digest('hex'),
    });
  };
  const writeCatalog = async (): Promise<void> => {
    await writeFile(join(directory, CATALOG), JSON.stringify([...listed.values()]));
  };
  for (const name of files) await list(name);
  await writeCatalog();
  // In these formats a text can be replaced without the writer of its format.
  const plain = files.filter((name) => /\.(?:json|csv)$/.test(name));
  let generation = 0;
  return {
    files,
    change: async (count) => {
      generation += 1;
      for (let at = 0; at < count; at += 1) {
        const name = plain[Math.floor((at * plain.length) / count)] ?? '';
        const path = join(directory, name);
        const text = await readFile(path, 'utf8');
        await writeFile(path, text.replace(/(?:改\d+)?第/, `改${generation}第`));
        await list(name);
      }
      await writeCatalog();
    },
  };
}

function numberOf(name: string): number {
  return Number(/(\d+)\.\w+$/.exec(name)?.[1]);
}
