import { open } from 'node:fs/promises';
import { renderManifestEntry, renderManifestHeader } from '../../contract/formats/manifest-format.ts';
import {
  manifestDigestOf,
  snapshotIdOf,
  type Blake3Hex,
  type SnapshotId,
} from '../../domain/release/digest.ts';
import {
  MANIFEST_MAX_LINE_BYTES,
  type ManifestChange,
  type ManifestHeader,
} from '../../domain/release/manifest.ts';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import { manifestPath } from '../volume/layout.ts';
import { SnapshotFault } from '../volume/snapshot-fault.ts';

const READ_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The beginning of an entry line, before its destination. */
const OPENING = '{"destination":"'.length;

/** A manifest on the volume, and the changes that make another one of it. */
export interface ChangedManifest {
  readonly root: string;
  readonly since: SnapshotId;
  /** In the byte order of the destinations. */
  readonly changes: Iterable<ManifestChange> | AsyncIterable<ManifestChange>;
}

/**
 * Makes the entry lines of a manifest from those of another one. All lines but the changed ones are copied as they are, so the work
 * beyond that copy grows with the changes. Nothing is checked here: only the digest of the result says whether the manifest on the
 * volume is sound and the changes fit.
 *
 * @returns pieces of the lines, each valid until the next one is asked for
 * @throws SnapshotFault when the manifest on the volume cannot be read
 */
export async function* changedLines({
  root,
  since,
  changes,
}: ChangedManifest): AsyncGenerator<Uint8Array, void> {
  const lines = linesOf(root, since);
  /** The rest of the piece that is read; `null` past the end. */
  const next = async (): Promise<Uint8Array | null> => {
    const { done, value } = await lines.next();
    return done === true ? null : value;
  };
  try {
    let piece = await next();
    for await (const { destination, entry } of changes) {
      const key = Buffer.from(destination);
      for (; piece !== null && isBefore(piece, lastLine(piece), key); piece = await next()) {
        if (piece.length > 0) yield piece;
      }
      if (piece !== null) {
        const at = firstFrom(piece, key);
        if (at > 0) yield piece.subarray(0, at);
        const isSame = at < piece.length && compareAt(piece, at, key) === 0;
        piece = piece.subarray(isSame ? lineEnd(piece, at) : at);
      }
      if (entry !== null) yield Buffer.from(`${renderManifestEntry(entry)}\n`);
    }
    for (; piece !== null; piece = await next()) if (piece.length > 0) yield piece;
  } finally {
    await lines.return();
  }
}

/**
 * Says which manifest the changes make, without writing it.
 *
 * @returns its id, and the BLAKE3 of its entry lines with what `prefix` puts before them
 * @throws SnapshotFault; the signal's reason
 */
export async function identifyChanged(
  header: ManifestHeader,
  changed: ChangedManifest,
  prefix: Uint8Array,
  signal: AbortSignal,
): Promise<{ readonly snapshotId: SnapshotId; readonly contentDigest: Blake3Hex }> {
  const [whole, content] = [createBlake3(), createBlake3()];
  whole.update(Buffer.from(`${renderManifestHeader(header)}\n`));
  content.update(prefix);
  for await (const piece of changedLines(changed)) {
    signal.throwIfAborted();
    whole.update(piece);
    content.update(piece);
  }
  return {
    snapshotId: snapshotIdOf(whole.digest().toString('hex') as Blake3Hex),
    contentDigest: content.digest().toString('hex') as Blake3Hex,
  };
}

/** The entry lines of a manifest on the volume, in pieces of whole lines. Each is valid until the next one is asked for. */
async function* linesOf(root: string, snapshotId: SnapshotId): AsyncGenerator<Uint8Array, void, undefined> {
  const digest = manifestDigestOf(snapshotId);
  if (digest === null) throw new SnapshotFault('damaged', snapshotId, `not a snapshot id: ${snapshotId}`);
  const file = await open(manifestPath(root, digest), OPEN_REGULAR).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') throw new SnapshotFault('missing', snapshotId, messageOf(error));
    throw error;
  });
  try {
    const window = Buffer.allocUnsafe(READ_BYTES + MANIFEST_MAX_LINE_BYTES);
    let carried = 0;
    let isHeader = true;
    for (;;) {
      const { bytesRead } = await file.read(window, carried, READ_BYTES, null);
      if (bytesRead === 0) break;
      const filled = carried + bytesRead;
      const start = isHeader ? window.subarray(0, filled).indexOf(LINE_FEED) + 1 : 0;
      const end = window.lastIndexOf(LINE_FEED, filled - 1) + 1;
      carried = filled - end;
      if (carried > MANIFEST_MAX_LINE_BYTES) break;
      if (end > start && (!isHeader || start > 0)) yield window.subarray(start, end);
      if (start > 0) isHeader = false;
      window.copyWithin(0, end, filled);
    }
    // The end of a damaged file. It makes another digest.
    if (carried > 0) throw new SnapshotFault('damaged', snapshotId, 'a line of the manifest does not end');
  } finally {
    await file.close();
  }
}

/** Where the last line of a piece begins. */
function lastLine(piece: Uint8Array): number {
  return piece.lastIndexOf(LINE_FEED, piece.length - 2) + 1;
}

/** Where the line after the one at `at` begins. */
function lineEnd(piece: Uint8Array, at: number): number {
  return piece.indexOf(LINE_FEED, at) + 1;
}

/** Whether the line at `at` comes before a destination; also for an empty piece. */
function isBefore(piece: Uint8Array, at: number, key: Buffer): boolean {
  return piece.length === 0 || compareAt(piece, at, key) < 0;
}

/** Where the first line begins whose destination is not before `key`; the end of the piece when all are. By bisection. */
function firstFrom(piece: Uint8Array, key: Buffer): number {
  let [low, high] = [0, piece.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const line = middle === 0 ? 0 : piece.lastIndexOf(LINE_FEED, middle - 1) + 1;
    if (compareAt(piece, line, key) < 0) low = lineEnd(piece, line);
    else high = line;
  }
  return low;
}

/** Compares the destination of the line at `at` with another one, by bytes. */
function compareAt(piece: Uint8Array, at: number, key: Buffer): number {
  const start = at + OPENING;
  const end = piece.indexOf(QUOTE, start);
  // Only quotes are escaped: a destination has no backslash and no control character.
  if (piece[end - 1] !== BACKSLASH) return Buffer.compare(piece.subarray(start, Math.max(start, end)), key);
  const line = Buffer.from(piece.subarray(start, lineEnd(piece, at))).toString('utf8');
  const [, escaped = ''] = /^((?:[^"\\]|\\.)*)"/.exec(line) ?? [];
  return Buffer.compare(Buffer.from(escaped.replaceAll('\\"', '"')), key);
}
