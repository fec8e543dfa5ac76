import { bytesSource, type ByteSource } from '../byte-source.ts';

/** A range of bytes of a file that is written: new ones, or some that are copied as they are. */
export interface OutputPiece {
  readonly source: ByteSource;
  readonly offset: number;
  readonly length: number;
}

const CHUNK_BYTES = 1024 * 1024;

export function newPiece(bytes: Uint8Array): OutputPiece {
  return { source: bytesSource(bytes), offset: 0, length: bytes.byteLength };
}

/**
 * The bytes of pieces, one after another, in chunks of at most 1 MiB. A chunk must not be changed.
 *
 * @throws FormatError `file_unreadable` when a source cannot be read
 */
export function* pieceChunks(pieces: Iterable<OutputPiece>): Generator<Buffer, void, undefined> {
  for (const { source, offset, length } of pieces) {
    for (let done = 0; done < length; done += CHUNK_BYTES) {
      yield source.read(offset + done, Math.min(CHUNK_BYTES, length - done));
    }
  }
}

/** All bytes of pieces in memory. For files that are small or already in memory. */
export function joinPieces(pieces: Iterable<OutputPiece>): Buffer {
  return Buffer.concat([...pieceChunks(pieces)]);
}
