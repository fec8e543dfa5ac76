import { mkdirSync, rmSync } from '../../../platform/files/file-changes.ts';
import { dirname } from 'node:path';
import type { SnapshotId } from '../../../domain/release/digest.ts';
import { systemClock } from '../../../platform/process/clock.ts';
import type { CallContext } from '../../../platform/threads/serve.ts';
import { loadManifest } from '../../../snapshot/manifest/manifest-loader.ts';
import { SnapshotFault } from '../../../snapshot/volume/snapshot-fault.ts';
import { objectPath } from '../../../snapshot/volume/layout.ts';
import type { ParseIndex } from '../index/parse-index.ts';
import type { IndexStatus } from '../index/index-status.ts';
import type { ParseErrorsBody } from '../index/read/parse-errors.ts';
import type { TextUnitsPage } from '../index/read/text-units.ts';
import type { DifferencesQuery, UnitDifferences } from '../index/read/unit-differences.ts';
import type { UnitQuery } from '../index/read/unit-filter.ts';
import type { NamedPlace, ScannedUnits, UnitScan } from '../index/read/unit-search.ts';
import type { ReadContainersAfter } from '../index/read/containers-after.ts';
import type { UnitsAfter, UnitsAfterQuery } from '../index/read/units-after.ts';
import { processBounds } from '../process/container-processes.ts';
import { createContainerParser, type ContainerParser } from '../process/container-parser.ts';
import { compileRules } from '../rules/compile-rules.ts';
import { rulesDigest, type LoadedRules } from '../rules/load-rules.ts';
import type { ParseConfiguration } from '../rules/parse-config.ts';
import {
  indexRelease,
  type FilesOfRelease,
  type IndexedRelease,
  type IndexProgress,
  takeSteps,
} from './index-release.ts';
import { checkSpace, IndexHolder } from './index-holder.ts';
import type { IndexReplacement } from './index-replaced.ts';

interface IndexJob {
  /** Root of the snapshot volume. */
  readonly root: string;
  readonly releaseId: string;
  readonly snapshotId: SnapshotId;
  readonly configuration: ParseConfiguration;
  readonly rules: LoadedRules;
  /** Whether containers whose text is known are parsed again. */
  readonly full: boolean;
  /** Releases whose index stays, besides this one. */
  readonly keptReleases: readonly string[];
}

export interface ParseThreadStatus {
  readonly index: IndexStatus;
  /** The last time that another index took the place of this one, since the thread started; `null` when there was none. */
  readonly replacement: IndexReplacement | null;
}

/** The parse index, as the thread that owns it serves it. Errors of storage have the code of their failure. */
export interface ParseStore {
  /** Indexes a release. A damaged index is made again from nothing. */
  index(job: IndexJob, context: CallContext): Promise<IndexedRelease>;
  /** How far the running `index` is; `null` when none runs. */
  progress(): IndexProgress | null;
  status(): ParseThreadStatus;
  /** Reports throw Error with the code `index_empty` until a run filled an index that took the place of another one. */
  textUnits(query: UnitQuery): TextUnitsPage;
  /** Looks at some units for a search. */
  scanUnits(scan: UnitScan): ScannedUnits;
  /** Units at some places, in the given order. */
  unitsAt(named: { readonly places: readonly NamedPlace[]; readonly query: UnitQuery }): TextUnitsPage;
  errors(query: UnitQuery): ParseErrorsBody;
  readonly containersAfter: ReadContainersAfter;
  /** Pages through the units of the reported release with their carry-over. */
  unitsAfter(query: UnitsAfterQuery): UnitsAfter;
  differences(query: DifferencesQuery): UnitDifferences | null;
  /** Deletes the index of releases that are not listed; the one that reports show stays. */
  drop(keptReleases: readonly string[], context: CallContext): Promise<void>;
  close(): void;
}

export interface ParseThreadData {
  readonly indexPath: string;
  /** For temporary files; emptied when the thread starts. */
  readonly scratchDirectory: string;
}

export function createStore({ indexPath, scratchDirectory }: ParseThreadData): ParseStore {
  rmSync(scratchDirectory, { recursive: true, force: true });
  mkdirSync(scratchDirectory, { recursive: true, mode: 0o700 });
  const stopping = new AbortController();
  const opened = new IndexHolder(indexPath);
  let progress: IndexProgress | null = null;
  return {
    index: async (job, context) => {
      const signal = AbortSignal.any([context.signal, stopping.signal]);
      const current: IndexProgress = { containers: 0, total: 0, units: 0, phase: 'parsing' };
      const parser = createContainerParser({
        ...processBounds(job.configuration),
        rules: job.rules,
        scratchDirectory,
        clock: systemClock,
      });
      try {
        progress = current;
        // Its process starts while the manifest is read and compared with the index. The system can refuse to start one.
        parser.prepare();
        const files = await readFiles(job, signal);
        return await opened.run(
          async (index, either) =>
            await runJob({ job, files, index, indexPath, parser, progress: current }, either),
          signal,
        );
      } finally {
        parser.close();
        progress = null;
      }
    },
    progress: () => progress,
    status: () => opened.read((index) => ({ index: index.status(), replacement: opened.replacement })),
    textUnits: (query) => opened.readFilled((index) => index.textUnits(query)),
    scanUnits: (scan) => opened.readFilled((index) => index.scanUnits(scan)),
    unitsAt: (named) => opened.readFilled((index) => index.unitsAt(named)),
    errors: (query) => opened.readFilled((index) => index.errors(query)),
    containersAfter: (query) => opened.readFilled((index) => index.containersAfter(query)),
    unitsAfter: (query) => opened.readFilled((index) => index.unitsAfter(query)),
    differences: (query) => opened.readFilled((index) => index.differences(query)),
    drop: async (keptReleases, context) => {
      const signal = AbortSignal.any([context.signal, stopping.signal]);
      await opened.run(
        async (index, either) => await takeSteps(dropReleases(index, keptReleases), either),
        signal,
      );
    },
    close: () => {
      stopping.abort(new Error('the daemon is stopping'));
      opened.close();
    },
  };
}

async function runJob(
  {
    job,
    files,
    index,
    parser,
    indexPath,
    progress,
  }: {
    readonly job: IndexJob;
    readonly files: FilesOfRelease;
    readonly index: ParseIndex;
    readonly parser: ContainerParser;
    readonly indexPath: string;
    readonly progress: IndexProgress;
  },
  signal: AbortSignal,
): Promise<IndexedRelease> {
  const { processes, stableNames } = job.configuration;
  const release = {
    ...job,
    files,
    stableNames,
    rules: compileRules(job.rules),
    rulesDigest: rulesDigest(job.rules),
  };
  const dependencies = {
    index,
    parser,
    processes,
    checkSpace: () => checkSpace(dirname(indexPath)),
  };
  const done = await indexRelease(dependencies, release, progress, signal);
  await takeSteps(dropReleases(index, [job.releaseId, ...job.keptReleases]), signal);
  return done;
}

async function readFiles({ root, snapshotId }: IndexJob, signal: AbortSignal): Promise<FilesOfRelease> {
  const manifest = await loadManifest({ root, snapshotId, checkObjects: false, signal }).catch(
    (error: unknown) => {
      if (!(error instanceof SnapshotFault)) throw error;
      const message = `${error.message}; the manifest of the release cannot be read, so verify or repair it`;
      throw Object.assign(new Error(message), { code: 'manifest_unreadable' });
    },
  );
  const { index } = manifest;
  return {
    length: index.length,
    at: (position) => ({
      destination: index.destination(position),
      blake3: index.blake3(position),
      size: index.size(position),
      path: objectPath(root, index.blake3(position)),
    }),
  };
}

function* dropReleases(index: ParseIndex, keptReleases: readonly string[]): Generator<void, void> {
  index.drop(keptReleases);
  while (index.step()) yield;
}
