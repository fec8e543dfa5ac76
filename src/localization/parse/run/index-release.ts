import { PARSE_ERROR_CODES, type ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { destinationKeys, type DestinationKeys } from '../container/destination-keys.ts';
import {
  PARSER_VERSION,
  type ContainerOutcome,
  type ParsedUnit,
  type ParseIssue,
} from '../container/parsed-container.ts';
import type { FoundError, IndexedFile, ContentOutcome } from '../index/index-rows.ts';
import type { ParseIndex } from '../index/parse-index.ts';
import type { ReportedIndex } from '../index/read/reported-index.ts';
import type { ContainerParser } from '../process/container-parser.ts';
import type { CompiledRules } from '../rules/compile-rules.ts';
import { setImmediate } from 'node:timers/promises';
import { MAX_BATCH_ROWS } from '../index/write/content-writer.ts';

/** The files of a release, in the order of the manifest. They are made when they are asked for. */
export interface FilesOfRelease {
  readonly length: number;
  /** @throws RangeError outside of 0 to `length - 1` */
  at(position: number): {
    readonly destination: string;
    readonly blake3: Blake3Hex;
    readonly size: number;
    readonly path: string;
  };
}

interface ReleaseToIndex {
  readonly releaseId: string;
  readonly files: FilesOfRelease;
  /** Globs of destinations whose parts under `*` vary from release to release. */
  readonly stableNames: readonly string[];
  readonly rules: CompiledRules;
  readonly rulesDigest: Blake3Hex;
  /** Whether containers that are known are parsed again. */
  readonly full: boolean;
}

export interface IndexProgress {
  /** Containers that were parsed or copied, of those that are not known yet. */
  containers: number;
  total: number;
  units: number;
  phase: 'parsing' | 'copying' | 'comparing' | 'done';
}

interface ContainerFailure {
  readonly destination: string;
  readonly status: string;
  readonly code: string;
  readonly message: string;
}

export interface IndexedRelease {
  readonly reported: ReportedIndex;
  readonly parsed: number;
  readonly reused: number;
  /** At most {@link MAX_FAILURES}. */
  readonly failures: readonly ContainerFailure[];
  readonly progress: IndexProgress;
}

interface IndexReleaseDependencies {
  readonly index: ParseIndex;
  readonly parser: ContainerParser;
  readonly processes: number;
  /** Throws when the index must not grow, because the disk is nearly full. */
  readonly checkSpace: () => void;
}

const MAX_FAILURES = 200;

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
  // One more than there are processes: it has its turn while another one is stored.
  await forEachConcurrently(positions, run.processes + 1, signal, async (position, either) => {
    await parseFile(run, position, either);
  });
}

async function parseFile(run: Run, position: number, signal: AbortSignal): Promise<void> {
  const { index, indexId, progress } = run;
  const { destination, path, size } = run.files.at(position);
  const store = createContainerStore(index, indexId, position);
  const job = { path, destination, destinationKey: run.keys.keyOf(destination) };
  const onUnits = (units: readonly ParsedUnit[]): void => {
    run.checkSpace();
    store.add(units);
    progress.units += units.length;
  };
  const outcome = await run.parser.parse(job, onUnits, signal);
  // A process that died may have handed over some units; without the rest they are not the text of the container.
  if (outcome.status === 'failed') store.clear();
  store.finish(outcome.issues.map(withSeverity), {
    parseStatus: outcome.status,
    format: outcome.format,
    skipped: outcome.skipped,
    seconds: outcome.seconds,
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

/**
 * Runs work that pauses after each step, and lets the thread answer calls between two steps.
 *
 * @param check is called before each step; its error ends the work
 */
export async function takeSteps<T>(
  steps: Generator<void, T>,
  signal: AbortSignal,
  check: () => void = () => undefined,
): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    check();
    const { done, value } = steps.next();
    if (done === true) return value;
    await setImmediate();
  }
}

interface ContainerStore {
  /** Takes the next units. The last ones wait in memory, so that a small container takes one transaction in all. */
  add(units: readonly ParsedUnit[]): void;
  /** Drops the units: those of a container that failed are not its whole text. */
  clear(): void;
  finish(errors: readonly FoundError[], outcome: ContentOutcome): void;
}

export function createContainerStore(index: ParseIndex, indexId: number, position: number): ContainerStore {
  let contentId: number | null = null;
  let waiting: readonly ParsedUnit[] = [];
  const write = (): number => {
    contentId ??= index.start(indexId, position);
    if (waiting.length > 0) index.append(contentId, waiting);
    waiting = [];
    return contentId;
  };
  return {
    add: (units) => {
      if (waiting.length > 0) index.transaction(write);
      waiting = units;
    },
    clear: () => {
      waiting = [];
      // A second start drops what the first one has.
      if (contentId !== null) contentId = index.start(indexId, position);
    },
    finish: (errors, outcome) => {
      index.transaction(() => {
        const id = write();
        for (let first = 0; first < errors.length; first += MAX_BATCH_ROWS) {
          index.append(id, [], errors.slice(first, first + MAX_BATCH_ROWS));
        }
        index.finish(id, outcome);
      });
    },
  };
}
