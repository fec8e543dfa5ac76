import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import { compareDestinations } from '../../../domain/release/destination.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { blake3Hex, createBlake3 } from '../../../platform/hashing/blake3.ts';
import type { IsolatedProgram } from '../../../platform/isolation/isolated-messages.ts';
import { createIsolatedPool } from '../../../platform/isolation/isolated-pool.ts';
import type { IsolatedFailure } from '../../../platform/isolation/watch-limits.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { PatchErrorCode } from '../../../formats/patch/patch-error.ts';
import { rulesDigest } from '../../parse/rules/load-rules.ts';
import type { SearchState } from './found-catalogs.ts';
import { listLine } from './release-files.ts';
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
  /** Its entries, sorted by destination. */
  entries(): Iterable<BaseEntry> | AsyncIterable<BaseEntry>;
  officialPath(blake3: Blake3Hex): string;
}

export interface CatalogRewriter {
  /**
   * @param changed the patched files
   * @param workDirectory where new files are written; the caller removes it
   * @param options whether catalogs that the given files change stay as they are: people have made them
   * @returns all changed files, in the order of the release: the given ones, the catalogs that list them, and the sidecars
   *   of those. A given archive with a catalog in it has another file than the given one
   * @throws CatalogError; the reason of the signal; an error with the code of errno when a file cannot be read or written
   */
  rewrite(
    changed: readonly ChangedFile[],
    release: BaseRelease,
    workDirectory: string,
    signal: AbortSignal,
    options?: { readonly keepsChanged: boolean },
  ): Promise<readonly ChangedFile[]>;
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

/** Remembers which files of the last release are catalogs, so that only files that changed since are searched. */
export interface SearchMemory {
  readonly listPath: string;
  last: {
    readonly settings: string;
    readonly release: string;
    readonly state: SearchState;
  } | null;
}

/**
 * Creates a rewriter. Catalogs are bytes from outside, so each rewrite has a process of its own.
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
  readonly program?: URL | IsolatedProgram<RewriteSetup, RewriteTask, never, RewriteResult>;
}): CatalogRewriter {
  const settings = blake3Hex(Buffer.from(JSON.stringify([rulesDigest(rules), catalogs])));
  return {
    rewrite: async (changed, release, workDirectory, signal, { keepsChanged } = { keepsChanged: false }) => {
      if (changed.length === 0) return [];
      const outputDirectory = await mkdtemp(join(workDirectory, 'catalogs-'));
      const listPath = `${outputDirectory}.list`;
      const releaseDigest = await writeList(listPath, changed, release);
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
      try {
        const known = knownSearch(memory, settings, releaseDigest);
        const task = { listPath, outputDirectory, known, keepsChanged };
        const outcome = await pool.run(task, () => undefined, signal);
        if (outcome.kind === 'failed') throw new CatalogError(outcome.code, '', outcome.message);
        const { files, state } = rewrittenOf(outcome.result);
        if (memory !== null) await remember(memory, listPath, { settings, release: releaseDigest, state });
        return mergeFiles(changed, { outputDirectory, files });
      } finally {
        pool.close();
        await rm(listPath, { force: true });
      }
    },
  };
}

function knownSearch(memory: SearchMemory | null, settings: string, release: string): RewriteTask['known'] {
  const last = memory?.last ?? null;
  if (memory === null || last === null || last.settings !== settings) return null;
  return { state: last.state, listPath: last.release === release ? null : memory.listPath };
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
    await copyFile(listPath, fresh);
    await rename(fresh, memory.listPath);
  } catch {
    // The memory only saves time: without it, the next search reads all files.
    await rm(fresh, { force: true }).catch(() => undefined);
    return;
  }
  memory.last = { ...digests, state };
}

async function writeList(
  path: string,
  changed: readonly ChangedFile[],
  release: BaseRelease,
): Promise<string> {
  const hash = createBlake3();
  const patched = new Map(changed.map((file) => [file.destination, file.path]));
  const lines = async function* (): AsyncGenerator<string> {
    for await (const { destination, blake3 } of release.entries()) {
      hash.update(Buffer.from(`${blake3} ${destination}\n`));
      yield listLine({
        destination,
        official: release.officialPath(blake3),
        patched: patched.get(destination) ?? null,
      });
    }
  };
  await pipeline(Readable.from(lines()), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  return hash.digest().toString('hex');
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
  changed: readonly ChangedFile[],
  { outputDirectory, files }: { readonly outputDirectory: string; readonly files: readonly RewrittenFile[] },
): readonly ChangedFile[] {
  const merged = new Map(changed.map((file) => [file.destination, file]));
  for (const { destination, name } of files) {
    if (/^\d+$/.test(name)) merged.set(destination, { destination, path: join(outputDirectory, name) });
  }
  return Array.from(merged.values()).toSorted((left, right) =>
    compareDestinations(left.destination, right.destination),
  );
}
