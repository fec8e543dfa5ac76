import type { Clock } from '../../platform/process/clock.ts';
import type { NoteWait } from '../../mirror/attested-source.ts';
import type { ExtraDigest, FileDigests, HashPool } from '../../platform/hashing/digests.ts';
import { SpareBuffers } from '../../platform/memory/spare-buffers.ts';
import { PartFile } from './part-file.ts';
import { SMALL_FILE_BYTES, SmallFile, type SmallFileTools } from './small-file.ts';
import type { HeldBytes, StagedFile } from './staged-file.ts';
import { quoteText } from '../upstream-location.ts';
import {
  isMismatch,
  statesDigest,
  UpstreamError,
  type UpstreamAdapter,
  type UpstreamBody,
  type UpstreamEntry,
} from '../upstream.ts';

/** Maximum number of bytes of buffers kept for the next small files: as much as the default number of concurrent downloads can use. */
const SPARE_BYTES = 16 * 1024 * 1024;

export interface Downloader {
  /**
   * Fetches one file, resuming what an earlier call or process left, and checks its size and every digest that the
   * catalog states. The file under `stagedPath` is whole and verified when the promise resolves and must not be trusted
   * before. The bytes of larger files are gathered in `<stagedPath>.part`, which a later call resumes. The caller bounds
   * how many run concurrently; each holds at most 1 MiB in memory.
   *
   * @param stagedPath absolute path; its directory exists
   * @param signal stops promptly and leaves a resumable part
   * @param onBytes told how many bytes were added; negative when received bytes had to be thrown away
   * @param noteWait hears of the waits between attempts
   * @returns the digests of the file, with its block list; its bytes are not durable yet
   * @throws UpstreamError when upstream fails, a file system error (`code` kept), or the signal's reason
   */
  download(
    entry: UpstreamEntry,
    stagedPath: string,
    signal: AbortSignal,
    onBytes: (bytes: number) => void,
    noteWait?: NoteWait,
  ): Promise<FileDigests>;
}

export interface DownloaderOptions {
  readonly adapter: UpstreamAdapter;
  readonly pool: HashPool;
  readonly clock: Clock;
  readonly logger: { warn(fields: object, message: string): void };
  readonly limits: {
    readonly maxAttempts: number;
    readonly backoffBaseMs: number;
    readonly backoffCapMs: number;
    readonly maxFileBytes: number;
  };
  /** 0 to 1, for the jitter; `Math.random` when absent. */
  readonly random?: () => number;
}

export function createDownloader(deps: DownloaderOptions): Downloader {
  const tools: SmallFileTools = { pool: deps.pool, buffers: new SpareBuffers(SPARE_BYTES) };
  return {
    async download(entry, stagedPath, signal, onBytes, noteWait) {
      signal.throwIfAborted();
      const { size } = entry;
      const part =
        size !== null && size <= SMALL_FILE_BYTES
          ? new SmallFile(stagedPath, size, tools)
          : await PartFile.open(stagedPath, entry, deps.pool);
      if (part.length > 0) onBytes(part.length);
      let digests: FileDigests;
      try {
        digests = await fetchVerified(deps, entry, part, { signal, onBytes, noteWait });
      } catch (error) {
        const useless = error instanceof UpstreamError && isMismatch(error);
        await (useless ? part.discard() : part.keep());
        throw error;
      }
      await part.finish();
      return digests;
    },
  };
}

interface Progress {
  readonly signal: AbortSignal;
  readonly onBytes: (bytes: number) => void;
  readonly noteWait: NoteWait | undefined;
}

async function fetchVerified(
  deps: DownloaderOptions,
  entry: UpstreamEntry,
  part: StagedFile,
  progress: Progress,
): Promise<FileDigests> {
  let failures = 0;
  let pastCaches = false;
  let furthest = part.length;
  for (;;) {
    let received = 0;
    const onBytes = (bytes: number): void => {
      received += Math.max(0, bytes);
      progress.onBytes(bytes);
    };
    try {
      const whole = part.length > 0 && part.length === entry.size;
      const how = { ...progress, onBytes, pastCaches };
      const coding = whole ? undefined : await receiveInto(part, deps, entry, how);
      const digests = await part.hash(extraDigestsOf(entry), progress.signal);
      checkDigests(entry, digests, coding);
      return digests;
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (isMismatch(error)) {
        if (pastCaches) throw mismatchPastCaches(deps.adapter, error);
        pastCaches = true;
        furthest = 0;
        progress.onBytes(-part.length);
        await part.restart();
        report(deps, entry, error, 0);
        continue;
      }
      // Beginning again at 0 is no progress, however far it gets: it could get a little further each time.
      const hasContinued = received < part.length || furthest === 0;
      const hasProgressed = hasContinued && part.length - furthest >= leastProgress(entry);
      furthest = Math.max(furthest, part.length);
      failures = hasProgressed ? 0 : failures + 1;
      // A catalog that changed stays changed: only fetching it again helps, and that is the task's to do.
      if (!error.retryable || error.code === 'catalog_changed' || failures >= deps.limits.maxAttempts)
        throw error;
      const waitMs = backoff(deps, failures, error.retryAfterMs);
      report(deps, entry, error, waitMs);
      progress.noteWait?.(error.message, waitMs);
      await deps.clock.sleep(waitMs, progress.signal);
    }
  }
}

/** An attempt that brings this much is progress, whatever the size of the file. */
const PROGRESS_BYTES = 64 * 1024;
/** Attempts in which a smaller file may arrive piece by piece. */
const PIECES_MAX = 100;

/** The bytes that an attempt must add so that it does not count as failed; they bound the number of attempts. */
function leastProgress({ size }: UpstreamEntry): number {
  return Math.min(PROGRESS_BYTES, Math.max(1, Math.ceil((size ?? Infinity) / PIECES_MAX)));
}

/** Kinds of upstream without a network between them and this process. */
const LOCAL_KINDS: ReadonlySet<string> = new Set(['directory', 'bundle']);

/** The failure of a file that was wrong twice, the second time fetched whole and past caches. */
function mismatchPastCaches({ kind }: UpstreamAdapter, error: UpstreamError): UpstreamError {
  if (LOCAL_KINDS.has(kind)) return error;
  return error.withReason(
    'it was fetched again past caches, but a cache in between may still hold an old copy of the file or of the catalog',
  );
}

/**
 * Full jitter: anything from 0 to the doubled bound, but never sooner than upstream asked for. After progress, nothing but upstream
 * itself is a reason to wait.
 */
function backoff(deps: DownloaderOptions, failures: number, retryAfterMs: number | null): number {
  if (failures === 0) return retryAfterMs ?? 0;
  const { backoffBaseMs, backoffCapMs } = deps.limits;
  const bound = Math.min(backoffCapMs, backoffBaseMs * 2 ** (failures - 1));
  const random = deps.random ?? Math.random;
  return Math.max(Math.floor(random() * bound), retryAfterMs ?? 0);
}

function report(deps: DownloaderOptions, entry: UpstreamEntry, error: UpstreamError, waitMs: number): void {
  deps.logger.warn(
    { destination: entry.destination, code: error.code, error: error.message, wait_ms: waitMs },
    'the download failed; retrying',
  );
}

const EXTRA_DIGESTS: readonly ExtraDigest[] = ['sha256', 'md5', 'crc32'];

function extraDigestsOf(entry: UpstreamEntry): readonly ExtraDigest[] {
  return EXTRA_DIGESTS.filter((kind) => entry.digests[kind] !== undefined);
}

function checkDigests(entry: UpstreamEntry, digests: FileDigests, coding: UpstreamBody['coding']): void {
  const where = quoteText(entry.destination);
  const decoded = coding?.isDecoded === true ? ', which was decoded' : '';
  const named =
    coding === undefined ? '' : `; upstream named the Content-Encoding ${quoteText(coding.name)}${decoded}`;
  if (entry.size !== null && digests.size !== entry.size) {
    throw new UpstreamError(
      'size_mismatch',
      `${where}: the catalog states ${entry.size} bytes, upstream sent ${digests.size}${named}`,
    );
  }
  const actual = { blake3: digests.blake3, ...digests.extra };
  for (const kind of ['blake3', ...EXTRA_DIGESTS] as const) {
    const expected = entry.digests[kind];
    if (expected !== undefined && actual[kind] !== expected) {
      throw new UpstreamError(
        'digest_mismatch',
        `${where}: the catalog states ${kind} ${expected}, the bytes have ${actual[kind] ?? 'none'}${named}`,
      );
    }
  }
}

/** Bytes gathered before they are written together: most files of a release need one write. */
const WRITE_BYTES = 512 * 1024;

/**
 * Receives the rest of a file. Bytes that arrived before a failure are kept.
 *
 * @param maxFileBytes bound where the catalog states no size
 * @returns the content coding that upstream named, if any
 * @throws UpstreamError (`size_mismatch` as soon as more bytes than stated arrive), a file system error, or the signal's
 *   reason
 */
async function receiveInto(
  part: StagedFile,
  { adapter, limits: { maxFileBytes } }: DownloaderOptions,
  entry: UpstreamEntry,
  { signal, onBytes, pastCaches }: Progress & { readonly pastCaches: boolean },
): Promise<UpstreamBody['coding']> {
  if (part.length > 0 && !part.held.isResumable) {
    onBytes(-part.length);
    await part.restart();
  }
  const { validator } = part.held;
  const isContinued = part.length > 0;
  const body = await adapter.open(entry, { start: part.length, validator, pastCaches }, signal);
  const pending: Uint8Array[] = [];
  let pendingBytes = 0;
  const flush = async (): Promise<void> => {
    if (pendingBytes === 0) return;
    const bytes = pendingBytes;
    const chunks = pending.splice(0);
    pendingBytes = 0;
    await part.append(chunks);
    onBytes(bytes);
  };
  // Iterating begins before anything is checked, because ending the iteration is what closes the connection.
  let begun = false;
  const begin = async (): Promise<void> => {
    begun = true;
    checkTotal(entry, body.totalSize, maxFileBytes);
    const isByDigest = isContinued && (validator === null || body.start !== part.length);
    if (body.start !== part.length) {
      if (body.start !== 0)
        throw new Error(`a body begins at ${body.start} although ${part.length} was requested`);
      onBytes(-part.length);
      await part.restart();
    }
    await part.begin(heldOf(body, entry, isByDigest), body.totalSize ?? entry.size);
  };
  try {
    for await (const chunk of body.chunks) {
      if (!begun) await begin();
      checkReceived(entry, part.length + pendingBytes + chunk.length, maxFileBytes);
      pending.push(chunk);
      pendingBytes += chunk.length;
      if (pendingBytes >= WRITE_BYTES) await flush();
    }
    if (!begun) await begin();
  } finally {
    await flush();
  }
  const expected = entry.size ?? body.totalSize;
  if (expected !== null && part.length < expected) {
    throw new UpstreamError(
      'upstream_truncated',
      `${quoteText(entry.destination)}: upstream sent ${part.length} of ${expected} bytes`,
      { retryable: true },
    );
  }
  return body.coding;
}

/**
 * What is held of a file from now on. Where a digest is stated, it decides whether the pieces fit together.
 *
 * @param isByDigest whether the pieces are of no one validator, or its condition was not met: servers behind one name can each have
 *   validators of their own
 */
function heldOf({ validator, coding }: UpstreamBody, entry: UpstreamEntry, isByDigest: boolean): HeldBytes {
  const isStated = statesDigest(entry);
  return {
    validator: isStated && isByDigest ? null : validator,
    isResumable: coding?.isDecoded !== true && (validator !== null || isStated),
  };
}

function checkTotal(entry: UpstreamEntry, totalSize: number | null, maxFileBytes: number): void {
  if (totalSize === null) return;
  if (entry.size === null) checkReceived(entry, totalSize, maxFileBytes);
  else if (totalSize !== entry.size) {
    throw new UpstreamError(
      'size_mismatch',
      `${quoteText(entry.destination)}: the catalog states ${entry.size} bytes, upstream has ${totalSize}`,
    );
  }
}

function checkReceived(entry: UpstreamEntry, received: number, maxFileBytes: number): void {
  const limit = entry.size ?? maxFileBytes;
  if (received <= limit) return;
  const rule =
    entry.size === null
      ? `the limit for files of unstated size is ${limit} (upstream.maxFileBytes)`
      : `the catalog states ${limit}`;
  throw new UpstreamError(
    'size_mismatch',
    `${quoteText(entry.destination)}: upstream sends more than ${limit} bytes, ${rule}`,
  );
}
