import { PARSE_ERROR_CODES, type ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { destinationKeys, type DestinationKeys } from '../container/destination-keys.ts';
import { PARSER_VERSION } from '../container/parser-version.ts';
import type { ContainerOutcome, ParsedUnit, ParseIssue } from '../container/parsed-container.ts';
import type { FoundError, IndexedFile } from '../index/index-rows.ts';
import type { ParseIndex } from '../index/parse-index.ts';
import type { ReportedIndex } from '../index/reported-index.ts';
import type { ParseWorker } from '../process/parse-worker.ts';
import type { CompiledRules } from '../rules/compile-rules.ts';
import { createContainerStore } from './container-store.ts';
import { takeSteps } from './take-steps.ts';
import { createWorkerPool, type WorkerPool } from '../../../platform/isolation/worker-pool.ts';

/** A file of the release. */
export interface ReleaseFile {
  readonly destination: string;
  readonly blake3: Blake3Hex;
  /** Bytes. */
  readonly size: number;
  /** Where its bytes are. */
  readonly path: string;
}

/** The files of a release, in the order of the manifest. They are made when they are asked for. */
export interface FilesOfRelease {
  readonly length: number;
  /** @throws RangeError outside of 0 to `length - 1` */
  at(position: number): ReleaseFile;
}

/** A release to index. */
export interface ReleaseToIndex {
  readonly releaseId: string;
  readonly files: FilesOfRelease;
  /** Globs of destinations whose parts under `*` vary from release to release. */
  readonly stableNames: readonly string[];
  readonly rules: CompiledRules;
  /** Digest of all rules. */
  readonly rulesDigest: Blake3Hex;
  /** Whether containers that are known are parsed again. */
  readonly full: boolean;
}

/** How far the indexing is. */
export interface IndexProgress {
  /** Containers that were parsed or copied, of those that are not known yet. */
  containers: number;
  total: number;
  units: number;
  phase: 'parsing' | 'copying' | 'comparing' | 'done';
}

/** A container that was not parsed completely. */
export interface ContainerFailure {
  readonly destination: string;
  readonly status: string;
  readonly code: string;
  readonly message: string;
}

/** The result of an indexing. */
export interface IndexedRelease {
  readonly reported: ReportedIndex;
  /** Containers that were parsed in this run. */
  readonly parsed: number;
  /** Containers whose text was known. */
  readonly reused: number;
  /** At most {@link MAX_FAILURES}. */
  readonly failures: readonly ContainerFailure[];
  /** How far it got: everything. */
  readonly progress: IndexProgress;
}

export interface IndexReleaseDependencies {
  readonly index: ParseIndex;
  /** The processes that parse; as many containers are parsed at a time. */
  readonly workers: readonly ParseWorker[];
  readonly clock: Clock;
  /** Throws when the index must not grow, because the disk is nearly full. */
  readonly checkSpace: () => void;
}

/** Most failures that the log of a task names. */
export const MAX_FAILURES = 200;

/** Failures that may have nothing to do with the bytes. The next run parses the container again. */
const TRANSIENT: ReadonlySet<ParseErrorCode> = new Set([
  'process_failed',
  'file_unreadable',
  'deadline_exceeded',
  'memory_exceeded',
]);

/**
 * Indexes a release: parses the containers whose text is not known, carries units over from the release before, and
 * makes the reports show it. A run that was interrupted finds the containers that it finished.
 *
 * @param progress is updated during the run
 * @throws the reason of the signal; errors of the index and of the check of the space
 */
export async function indexRelease(
  dependencies: IndexReleaseDependencies,
  release: ReleaseToIndex,
  progress: IndexProgress,
  signal: AbortSignal,
): Promise<IndexedRelease> {
  const { index, checkSpace } = dependencies;
  const { files, rules } = release;
  const keys = destinationKeys(() => destinationsOf(files), release.stableNames);
  const { indexId, toParse, toCopy } = index.begin({
    releaseId: release.releaseId,
    parserVersion: PARSER_VERSION,
    rulesDigest: Buffer.from(release.rulesDigest, 'hex'),
    files: indexedFiles(files, keys, rules),
  });
  // Rows of failed and cancelled runs are freed first, because they may fill the disk.
  await takeSteps(index.reclaim(), signal);
  const positions = release.full ? Array.from({ length: files.length }, (_, position) => position) : toParse;
  const copies = release.full ? [] : toCopy;
  Object.assign(progress, {
    containers: 0,
    total: positions.length + copies.length,
    units: 0,
    phase: 'parsing',
  });
  const run: Run = {
    ...dependencies,
    indexId,
    files,
    keys,
    progress,
    failures: [],
  };
  await parseAll(run, positions, signal);
  progress.phase = 'copying';
  for (const position of copies) {
    if (!(await takeSteps(index.copy(indexId, position), signal, checkSpace)))
      await parseAll(run, [position], signal);
    else progress.containers += 1;
  }
  progress.phase = 'comparing';
  const reported = await takeSteps(index.complete(indexId), signal, checkSpace);
  return {
    reported,
    parsed: positions.length,
    reused: files.length - positions.length,
    failures: run.failures,
    progress: { ...progress, phase: 'done' },
  };
}

function* destinationsOf(files: FilesOfRelease): Generator<string, void> {
  for (let position = 0; position < files.length; position += 1) yield files.at(position).destination;
}

function* indexedFiles(
  files: FilesOfRelease,
  keys: DestinationKeys,
  rules: CompiledRules,
): Generator<IndexedFile, void> {
  for (let position = 0; position < files.length; position += 1) {
    const { destination, blake3 } = files.at(position);
    yield {
      destination,
      destinationKey: keys.keyOf(destination),
      blake3: Buffer.from(blake3, 'hex'),
      rulesDigest: Buffer.from(rules.digestFor(destination), 'hex'),
      ambiguity: keys.ambiguity(destination, 'unknown')?.message ?? null,
    };
  }
}

interface Run extends IndexReleaseDependencies {
  readonly indexId: number;
  readonly files: FilesOfRelease;
  readonly keys: DestinationKeys;
  readonly progress: IndexProgress;
  readonly failures: ContainerFailure[];
}

async function parseAll(run: Run, positions: readonly number[], signal: AbortSignal): Promise<void> {
  const pool = createWorkerPool(run.workers);
  // One more than there are workers: it has its turn while another one is stored.
  await forEachConcurrently(positions, run.workers.length + 1, signal, async (position, either) => {
    await parseFile(run, pool, position, either);
  });
}

async function parseFile(
  run: Run,
  pool: WorkerPool<ParseWorker>,
  position: number,
  signal: AbortSignal,
): Promise<void> {
  const { index, indexId, clock, progress } = run;
  const { destination, path, size } = run.files.at(position);
  const store = createContainerStore(index, indexId, position);
  const { outcome, seconds } = await pool.use(async (worker) => {
    const startedAt = clock.monotonic();
    const job = { path, destination, destinationKey: run.keys.keyOf(destination) };
    const onUnits = (units: readonly ParsedUnit[]): void => {
      run.checkSpace();
      store.add(units);
      progress.units += units.length;
    };
    const parsed = await worker.parse(job, onUnits, signal);
    return { outcome: parsed, seconds: (clock.monotonic() - startedAt) / 1000 };
  });
  // A process that died may have handed over some units; without the rest they are not the text of the container.
  if (outcome.status === 'failed') store.clear();
  store.finish(outcome.issues.map(withSeverity), {
    parseStatus: outcome.status,
    format: outcome.format,
    skipped: outcome.skipped,
    seconds,
    bytes: size,
    isReusable: !outcome.issues.some(({ code }) => TRANSIENT.has(code)),
  });
  progress.containers += 1;
  noteFailure(run, destination, outcome);
}

function noteFailure({ failures }: Run, destination: string, { status, issues }: ContainerOutcome): void {
  const first = issues.find(({ code }) => PARSE_ERROR_CODES[code].severity === 'error');
  if (first === undefined || failures.length >= MAX_FAILURES) return;
  failures.push({ destination, status, code: first.code, message: first.message });
}

function withSeverity(issue: ParseIssue): FoundError {
  return { ...issue, severity: PARSE_ERROR_CODES[issue.code].severity };
}
