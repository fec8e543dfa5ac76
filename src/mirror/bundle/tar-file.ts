import { Header } from 'tar/header';
import { Pax } from 'tar/pax';
import { messageOf } from '../../platform/errors.ts';

/** Bytes of a header, and what the size of an archive is a multiple of. */
export const TAR_BLOCK = 512;

/** Longest extended header that is read, bytes. */
const EXTENSION_MAX_BYTES = 64 * 1024;

const MAX_ENTRIES = 100_000;

/** Two empty blocks end an archive. */
export const TAR_END = Buffer.alloc(2 * TAR_BLOCK);

/** Most bytes of the end of an archive. Programs fill it to a whole record, by default of 10 KiB. */
const END_MAX_BYTES = 1024 * 1024;

export interface TarMember {
  /** Without a leading `./`. */
  readonly path: string;
  /** Offset of its bytes in the archive. */
  readonly offset: number;
  readonly size: number;
}

/**
 * The header of a file in an archive (USTAR). Owner, mode and time are fixed, so that the same files are the same archive.
 *
 * @param path at most 100 ASCII characters
 * @param size bytes, below 8 GiB
 *
 * Source: POSIX.1-2024, pax, "ustar Interchange Format".
 */
export function tarHeader(path: string, size: number): Buffer {
  const block = Buffer.alloc(TAR_BLOCK);
  const header = new Header({
    path,
    size,
    mode: 0o644,
    uid: 0,
    gid: 0,
    mtime: new Date(0),
    type: 'File',
    uname: '',
    gname: '',
  });
  if (header.encode(block)) throw new RangeError(`${path} with ${size} bytes does not fit a USTAR header`);
  return block;
}

/** The zero bytes that follow the bytes of a file in an archive. */
export function tarPadding(size: number): Buffer {
  return TAR_END.subarray(0, paddedSize(size) - size);
}

/** Reads the bytes `[start, end)`; fewer where the file ends. */
type ReadAt = (start: number, end: number) => Promise<Buffer>;

export class TarError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TarError';
  }
}

/**
 * Lists the regular files of an archive. It reads only headers, so the size of the files does not matter.
 *
 * @param fileSize bytes of the archive
 * @throws TarError; what `read` throws
 */
export async function listTar(read: ReadAt, fileSize: number): Promise<readonly TarMember[]> {
  const members: TarMember[] = [];
  let extension: Pax | undefined;
  let entries = 0;
  for (let at = 0; at < fileSize;) {
    const block = await read(at, at + TAR_BLOCK);
    if (block.length < TAR_BLOCK) throw cutOff(at);
    const header = readHeader(block, extension, at);
    if (header.nullBlock) {
      await requireEnd(read, at, fileSize);
      return members;
    }
    if (!header.cksumValid) throw noHeader(at);
    entries += 1;
    if (entries > MAX_ENTRIES) throw new TarError(`the archive has more than ${MAX_ENTRIES} entries`);
    const { size = 0, path = '', type } = header;
    const offset = at + TAR_BLOCK;
    if (!Number.isSafeInteger(size) || size < 0)
      throw new TarError(`the header at ${offset - TAR_BLOCK} states no size`);
    if (offset + size > fileSize) throw cutOff(offset);
    at = offset + paddedSize(size);
    if (type === 'ExtendedHeader') {
      if (size > EXTENSION_MAX_BYTES) throw new TarError(`an extended header has ${size} bytes`);
      extension = readExtension(await read(offset, offset + size), offset);
      continue;
    }
    extension = undefined;
    if (type === 'File' || type === 'OldFile')
      members.push({ path: path.replace(/^\.\//, ''), offset, size });
  }
  // Some programs leave the end blocks out.
  return members;
}

/**
 * Checks the first block of an archive.
 *
 * @throws TarError
 */
export function requireFirstHeader(block: Buffer): void {
  const { nullBlock, cksumValid } = readHeader(block, undefined, 0);
  if (nullBlock || !cksumValid) throw noHeader(0);
}

/** Only the fill of a record may follow: nobody has checked other bytes. */
async function requireEnd(read: ReadAt, at: number, fileSize: number): Promise<void> {
  const isEmpty = fileSize - at <= END_MAX_BYTES && (await read(at, fileSize)).every((byte) => byte === 0);
  if (!isEmpty) throw new TarError(`other bytes follow the archive, which ends at ${at}`);
}

function readHeader(block: Buffer, extension: Pax | undefined, at: number): Header {
  try {
    return new Header(block, 0, extension);
  } catch (error) {
    throw new TarError(`the header at ${at} is damaged: ${messageOf(error)}`);
  }
}

function readExtension(bytes: Buffer, at: number): Pax {
  try {
    return Pax.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new TarError(`the extended header at ${at} is damaged: ${messageOf(error)}`);
  }
}

function paddedSize(size: number): number {
  return Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
}

function noHeader(at: number): TarError {
  return new TarError(`the block at ${at} is not a header of a tar archive; is it compressed, or damaged?`);
}

function cutOff(at: number): TarError {
  return new TarError(`the archive is cut off at ${at}: it was not written or copied to its end`);
}
