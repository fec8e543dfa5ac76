import { randomBytes } from 'node:crypto';
import { open, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { copyForImport } from '../../../../src/daemon/exchange/import-copy.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Makes every single write stop after half of its bytes, as one on a nearly full volume can. */
async function shortenWrites(folder: string): Promise<void> {
  const handle = await open(join(folder, 'probe'), 'w');
  const prototype = Object.getPrototypeOf(handle) as {
    write: (this: FileHandle, bytes: Uint8Array) => Promise<unknown>;
  };
  await handle.close();
  const { write } = prototype;
  vi.spyOn(prototype, 'write').mockImplementation(async function shortWrite(this: FileHandle, bytes) {
    return await write.call(this, bytes.subarray(0, Math.ceil(bytes.length / 2)));
  });
}

describe('the copy of a file to import', () => {
  afterEach(() => vi.restoreAllMocks());

  it('has every byte, although a single write may write a part only', async () => {
    const folder = await temporaryDirectory();
    const bytes = randomBytes(100_000);
    await writeFile(join(folder, 'terms.csv'), bytes);
    await shortenWrites(folder);
    const copy = await copyForImport({
      root: folder,
      privateFolder: folder,
      file: 'terms.csv',
      maxBytes: 1_000_000,
      signal: new AbortController().signal,
    });
    const pieces: Uint8Array[] = [];
    for await (const piece of copy.read()) pieces.push(piece);
    await copy.close();
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    expect(copy.bytes).toBe(bytes.length);
  });
});
