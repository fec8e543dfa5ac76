import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  RELEASE_FILE_END,
  renderReleaseFileEntry,
  renderReleaseFileHead,
  type ReleaseFileHead,
} from '../../contract/formats/release-file-format.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { MANIFEST_MAX_ENTRIES } from '../../domain/release/manifest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { OPEN_REGULAR } from '../../platform/files/open-regular.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { mapInOrder } from '../../platform/process/concurrently.ts';
import { failureOfFile, walkTree, type TreeFile } from '../adapters/directory-walk.ts';
import { emptyCatalog, tooManyEntries } from '../entry-rules.ts';
import { quoteText } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';
import type { KnownFiles } from './known-files.ts';

/** Files begun before their turn: each is an open file at most, and they hide the time that a large one takes. */
const AHEAD = 256;
const PIECE_BYTES = 64 * 1024;
/**
 * A file that changed as shortly before it was read as this could change again within the same modification time, which some file systems
 * keep in steps of two seconds.
 */
const SETTLED_NS = 2_000_000_000n;
/** As long as the id that replaces it. */
const UNKNOWN_ID = `dir-${'0'.repeat(16)}` as ReleaseId;

/** What is written. */
export interface WriteReleaseFileOptions {
  /** Absolute path of the tree. */
  readonly root: string;
  /** Destinations that are not files of the release. */
  readonly left: ReadonlySet<string>;
  /** `releaseId` is `null` for one that is derived from the content. */
  readonly head: Omit<ReleaseFileHead, 'releaseId'> & { readonly releaseId: ReleaseId | null };
  /** Files whose digests are known, or `null`. */
  readonly known: KnownFiles | null;
  readonly pool: HashPool;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** @param bytes of the files that are done */
  readonly onProgress: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** What was written. */
export interface WrittenReleaseFile {
  readonly releaseId: ReleaseId;
  readonly files: number;
  readonly bytes: number;
  /** Files that were read. */
  readonly read: number;
}

interface ListedFile extends TreeFile {
  readonly blake3: Blake3Hex;
  readonly wasRead: boolean;
  /** Whether a later run may rely on its modification time. */
  readonly isSettled: boolean;
}

/**
 * Writes the release file of a tree into an empty file. Memory holds a few hundred entries, however many there are.
 *
 * @throws UpstreamError when the tree is empty, is not one of a release or changes meanwhile; the file system error; the signal's reason
 */
export async function writeReleaseFile(
  file: FileHandle,
  { root, left, head, known, pool, now, onProgress, signal }: WriteReleaseFileOptions,
): Promise<WrittenReleaseFile> {
  const identity = createBlake3();
  let [files, bytes, read] = [0, 0, 0];
  let text = renderReleaseFileHead({ ...head, releaseId: head.releaseId ?? UNKNOWN_ID });
  const list = async function* (): AsyncGenerator<{ file: TreeFile; digest: Blake3Hex | null }, void> {
    for await (const found of walkTree(
      root,
      { ignoredAtRoot: left, maxNames: MANIFEST_MAX_ENTRIES },
      signal,
    )) {
      if (left.has(found.destination)) continue;
      yield { file: found, digest: (await known?.digestOf(found)) ?? null };
    }
  };
  const digests = mapInOrder(list(), AHEAD, signal, async (listed, either): Promise<ListedFile> => {
    const isSettled = listed.file.mtimeNs < BigInt(now()) * 1_000_000n - SETTLED_NS;
    if (listed.digest !== null) return { ...listed.file, blake3: listed.digest, wasRead: false, isSettled };
    const blake3 = await hashListed(root, listed.file, pool, either);
    return { ...listed.file, blake3, wasRead: true, isSettled };
  });
  for await (const { destination, size, mtimeNs, blake3, wasRead, isSettled } of digests) {
    if (files === MANIFEST_MAX_ENTRIES) throw tooManyEntries(quoteText(root), MANIFEST_MAX_ENTRIES);
    identity.update(Buffer.from(`${destination}\0${size}\0${blake3}\n`));
    text += renderReleaseFileEntry(
      { destination, size, blake3, ...(isSettled ? { mtimeNs } : {}) },
      files === 0,
    );
    files += 1;
    bytes += size;
    read += wasRead ? 1 : 0;
    onProgress(bytes);
    if (text.length < PIECE_BYTES) continue;
    await file.writeFile(text);
    text = '';
  }
  if (files === 0) throw emptyCatalog(quoteText(root));
  await file.writeFile(text + RELEASE_FILE_END);
  const derived = `dir-${identity.digest().toString('hex').slice(0, 16)}` as ReleaseId;
  const releaseId = head.releaseId ?? derived;
  await file.write(renderReleaseFileHead({ ...head, releaseId }), 0);
  return { releaseId, files, bytes, read };
}

async function hashListed(
  root: string,
  { destination, size, mtimeNs }: TreeFile,
  pool: HashPool,
  signal: AbortSignal,
): Promise<Blake3Hex> {
  signal.throwIfAborted();
  const path = join(root, destination);
  try {
    const handle = await open(path, OPEN_REGULAR);
    try {
      const { blake3 } = await pool.hashContent(handle.fd, { blocks: false, fromDisk: false }, signal);
      const after = await handle.stat({ bigint: true });
      if (after.size === BigInt(size) && after.mtimeNs === mtimeNs) return blake3;
    } finally {
      await handle.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (errorCode(error) !== 'FILE_CHANGED') throw failureOfFile(error, path);
  }
  throw new UpstreamError(
    'catalog_changed',
    `${quoteText(path)} changed while it was read; run it again when nothing writes into the folder`,
  );
}
