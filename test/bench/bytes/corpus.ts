import { randomFillSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const MEBIBYTE = 1024 * 1024;

/** The files that every peer serves, by their names in the cases. */
export type CorpusFile = '1k.bin' | '16k.bin' | '256k.bin' | '4m.bin' | '100m.bin';

/** The files and their expected content. */
export interface Corpus {
  readonly directory: string;
  readonly bytes: Readonly<Record<CorpusFile, Buffer>>;
}

/** Writes files of random bytes. With `quick`, the largest is an eighth of its name. */
export async function writeCorpus(
  directory: string,
  { quick }: { readonly quick: boolean },
): Promise<Corpus> {
  const sizes: Record<CorpusFile, number> = {
    '1k.bin': 1024,
    '16k.bin': 16 * 1024,
    '256k.bin': 256 * 1024,
    '4m.bin': 4 * MEBIBYTE,
    '100m.bin': (quick ? 12 : 100) * MEBIBYTE,
  };
  const bytes = Object.fromEntries(
    Object.entries(sizes).map(([name, size]) => [name, randomFillSync(Buffer.alloc(size))]),
  ) as Record<CorpusFile, Buffer>;
  await mkdir(directory, { recursive: true });
  for (const [name, content] of Object.entries(bytes)) await writeFile(join(directory, name), content);
  return { directory, bytes };
}

/** Writes many small files next to the corpus, so that the release has a realistic size. */
export async function writeSmallFiles(directory: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const file = join(directory, 'small', String(i % 100), `${i}.bin`);
    if (i < 100) await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `small file ${i}\n`);
  }
}

/** Writes a large amount of data next to the corpus: a gibibyte, or with `quick` a thirty-second of that. */
export async function writeLargeFiles(
  directory: string,
  { quick }: { readonly quick: boolean },
): Promise<void> {
  const bytes = randomFillSync(Buffer.alloc((quick ? 4 : 128) * MEBIBYTE));
  for (let i = 0; i < 8; i += 1) {
    // A different number makes a different object, and hashing does not need random blocks.
    bytes.writeUInt32LE(i);
    await writeFile(join(directory, `large-${i}.bin`), bytes);
  }
}
