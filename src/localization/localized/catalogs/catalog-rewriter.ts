import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import { compareDestinations } from '../../../domain/release/destination.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import { createIsolatedPool } from '../../../platform/isolation/isolated-pool.ts';
import type { IsolatedFailure } from '../../../platform/isolation/watch-limits.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { PatchErrorCode } from '../../../formats/patch/patch-error.ts';
import { rulesDigest } from '../../parse/rules/load-rules.ts';
import type { SearchState } from './found-catalogs.ts';
import { listLine, type PatchedReleaseFile } from './release-files.ts';
import type { RewrittenCatalogs, RewrittenFile } from './rewrite-catalogs.ts';
import type { RewriteResult, RewriteSetup, RewriteTask } from './catalog-program.ts';
import { copyFile, createWriteStream, mkdtemp, rename, rm } from '../../../platform/files/file-changes.ts';

export interface ChangedFile {
  readonly destination: string;
  readonly path: string;
}

export interface BaseEntry {
  readonly destination: string;
  readonly blake3: Blake3Hex;
}

export interface BaseRelease {
  /** Releases with the same id have the same entries. */
  readonly id: string;
  /** Its entries, sorted by destination. */
  entries(): Iterable<BaseEntry> | AsyncIterable<BaseEntry>;
  officialPath(blake3: Blake3Hex): string;
}

export interface CatalogRewriter {
  /** Starts the process. */
  prepare(): void;
  /**
   * @param changed the patched files, in any order
   * @param workDirectory where new files are written; the caller removes it
   * @param options whether catalogs that the given files change stay as they are: people have made them
   * @returns all changed files, in the order of the release: the given ones, the catalogs that list them, and the sidecars
   *   of those. A given archive with a catalog in it has another file than the given one
   * @throws CatalogError; the reason of the signal; an error with the code of errno when a file cannot be read or written
   */
  rewrite(
    changed: readonly PatchedReleaseFile[],
    release: BaseRelease,
    workDirectory: string,
    signal: AbortSignal,
    options?: { readonly keepsChanged: boolean },
  ): Promise<readonly ChangedFile[]>;
  close(): void;
}

/** The catalogs of a release cannot be rewritten, so that it cannot be published. */
export class CatalogError extends Error {
  readonly code: PatchErrorCode | ParseErrorCode | IsolatedFailure['code'];
  /** The destination to blame, with the path through archives; empty where no file is. */
  readonly path: string;

  constructor(code: CatalogError['code'], path: string, message: string) {
    super(message);
    this.name = 'CatalogError';
    this.code = code;
    this.path = path;
  }
}

/**
 * Remembers which files of the last release are catalogs, so that only files that changed since are searched; and the list of its
 * files, so that it is written once.
 */
export interface SearchMemory {
  readonly listPath: string;
  last: {
    readonly settings: string;
    readonly release: string;
    readonly state: SearchState;
  } | null;
}

/** UTF-16 code units of a list that are written at once. */
const CHUNK = 64 * 1024;

/**
 * Creates a rewriter. Catalogs are bytes from outside, so they are rewritten in a process of their own, which serves all calls.
 *
 * @param options `scratchDirectory`: for temporary files; `memoryBytes`: most resident memory of the process; `timeoutMs`: for one
 *   release; `memory`: outlives the rewriter, so that the next one does not search the same release again
 */
export function createCatalogRewriter({
  rules,
  catalogs,
  memory = null,
  program = new URL('./catalog-process.ts', import.meta.url),
  ...limits
}: RewriteSetup & {
  readonly scratchDirectory: string;
  readonly memoryBytes: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly memory?: SearchMemory | null;
  /** Tests can use another one. */
  readonly program?: URL;
}): CatalogRewriter {
  const settings = blake3Hex(Buffer.from(JSON.stringify([rulesDigest(rules), catalogs])));
  const pool = createIsolatedPool<RewriteSetup, RewriteTask, never, RewriteResult>({
    ...limits,
    program,
    processes: 1,
    setup: { rules, catalogs },
    names: {
      work: 'rewriting the catalogs of the release',
      timeoutSetting: 'localized.catalogs.timeoutSeconds',
      memorySetting: 'parse.memoryMebibytes',
    },
  });
  return {
    prepare: () => pool.prepare(),
    close: () => pool.close(),
    rewrite: async (given, release, workDirectory, signal, { keepsChanged } = { keepsChanged: false }) => {
      if (given.length === 0) return [];
      // Files that are named in messages are in the same order in each run.
      const changed = given.toSorted(inOrder);
      const outputDirectory = await mkdtemp(join(workDirectory, 'catalogs-'));
      const last = memory?.last?.settings === settings ? memory.last : null;
      const isKnown = memory !== null && last?.release === release.id;
      const listPath = isKnown ? memory.listPath : `${outputDirectory}.list`;
      if (!isKnown) await writeList(listPath, release);
      try {
        const before = isKnown ? null : (memory?.listPath ?? null);
        const known = last === null ? null : { state: last.state, listPath: before };
        const task = { listPath, changed, outputDirectory, known, keepsChanged };
        const outcome = await pool.run(task, () => undefined, signal);
        if (outcome.kind === 'failed') throw new CatalogError(outcome.code, '', outcome.message);
        const { files, state } = rewrittenOf(outcome.result);
        if (memory !== null) await remember(memory, listPath, { settings, release: release.id, state });
        return mergeFiles(changed, { outputDirectory, files });
      } catch (error) {
        if (memory !== null && mayComeOfList(error)) memory.last = null;
        throw error;
      } finally {
        if (!isKnown) await rm(listPath, { force: true });
      }
    },
  };
}

/** Whether the list that is kept can be the cause: it is lost, or damaged, which ends the process. */
function mayComeOfList(error: unknown): boolean {
  return !(error instanceof CatalogError) || error.code === 'process_failed';
}

async function remember(
  memory: SearchMemory,
  listPath: string,
  {
    state,
    ...digests
  }: { readonly settings: string; readonly release: string; readonly state: SearchState | null },
): Promise<void> {
  // Without a list, the state stands for nothing.
  memory.last = null;
  const fresh = `${memory.listPath}.new`;
  if (state === null) {
    // Nothing reads the list without a state.
    await rm(memory.listPath, { force: true }).catch(() => undefined);
    return;
  }
  try {
    // The data folder and the snapshot volume can be two file systems, so the list cannot be moved there.
    if (listPath !== memory.listPath) {
      await copyFile(listPath, fresh);
      await rename(fresh, memory.listPath);
    }
  } catch {
    // The memory only saves time: without it, the next search reads all files.
    await rm(fresh, { force: true }).catch(() => undefined);
    return;
  }
  memory.last = { ...digests, state };
}

async function writeList(path: string, release: BaseRelease): Promise<void> {
  const chunks = async function* (): AsyncGenerator<string> {
    let chunk = '';
    for await (const { destination, blake3 } of release.entries()) {
      chunk += listLine(destination, release.officialPath(blake3));
      if (chunk.length < CHUNK) continue;
      yield chunk;
      chunk = '';
    }
    yield chunk;
  };
  await pipeline(Readable.from(chunks()), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
}

function rewrittenOf(result: RewriteResult): RewrittenCatalogs {
  switch (result.kind) {
    case 'rewritten':
      return result;
    case 'refused':
      throw new CatalogError(result.code, result.path, result.message);
    case 'system':
      throw Object.assign(new Error(result.message), { code: result.errno });
  }
}

/** All changed files. The process read bytes from outside, so it names files only in its own folder. */
function mergeFiles(
  changed: readonly PatchedReleaseFile[],
  { outputDirectory, files }: { readonly outputDirectory: string; readonly files: readonly RewrittenFile[] },
): readonly ChangedFile[] {
  const merged = new Map(
    changed.map(({ destination, patched: path }) => [destination, { destination, path }]),
  );
  for (const { destination, name } of files) {
    if (/^\d+$/.test(name)) merged.set(destination, { destination, path: join(outputDirectory, name) });
  }
  return Array.from(merged.values()).toSorted(inOrder);
}

function inOrder(left: { readonly destination: string }, right: { readonly destination: string }): number {
  return compareDestinations(left.destination, right.destination);
}
