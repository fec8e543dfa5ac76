import { createHash, randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { placeBelowRoot } from '../../platform/files/below-root.ts';
import { fsyncDirectory } from '../../platform/files/files.ts';
import { open, rename, rm } from '../../platform/files/file-changes.ts';

interface ExportedFile {
  readonly bytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
}

const FLUSH_BYTES = 256 * 1024;
/** Everyone may read the file, because it is for people on a volume of theirs. */
const MODE = 0o644;

/**
 * Writes a file below the folder of exchanged files. It gets its name when it is complete, and replaces a file of that name.
 *
 * @param file relative to the root
 * @param parts its texts or bytes, in order
 * @throws ServiceError `invalid_path`; the file system error; the signal's reason; the error of the parts
 */
export async function writeExport(
  root: string,
  file: string,
  parts: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): Promise<ExportedFile> {
  const place = await placeBelowRoot(root, file);
  const folder = dirname(place);
  const temporary = join(folder, `.${basename(place).slice(0, 100)}.${randomUUID()}.tmp`);
  const digest = createHash('sha256');
  let bytes = 0;
  try {
    const handle = await open(temporary, 'wx', MODE);
    try {
      for await (const piece of inLargePieces(parts)) {
        signal.throwIfAborted();
        digest.update(piece);
        bytes += piece.length;
        await handle.writeFile(piece);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, place);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await fsyncDirectory(folder);
  return { bytes, sha256: digest.digest('hex') };
}

async function* inLargePieces(parts: AsyncIterable<string | Uint8Array>): AsyncGenerator<Buffer> {
  let collected: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    const piece = typeof part === 'string' ? Buffer.from(part) : part;
    collected.push(piece);
    bytes += piece.length;
    if (bytes < FLUSH_BYTES) continue;
    yield Buffer.concat(collected);
    collected = [];
    bytes = 0;
  }
  yield Buffer.concat(collected);
}
