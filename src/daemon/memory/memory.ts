import { basename, join } from 'node:path';
import type { LanguagePair } from '../../domain/memory/memory-record.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { DefinedAction } from '../api/define-action.ts';
import type { DefinedReport } from '../api/define-report.ts';
import type { DoctorCheck } from '../reports/doctor-report.ts';
import type { Job } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { createMemoryActions } from './memory-actions.ts';
import { createMemoryCheck } from './memory-check.ts';
import type { MemoryConfiguration } from './memory-config.ts';
import { createMemoryJobs } from './memory-jobs.ts';
import { createMemoryReports } from './memory-reports.ts';
import { createMemoryThread } from './memory-thread.ts';
import type { MemoryCounts } from './store/memory-reads.ts';
import { createTranslationMemory, type TranslationMemory } from './translation-memory.ts';

export interface MemoryOptions {
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
  readonly engine: Pick<TaskEngine, 'submit' | 'recordInline'>;
  /** `root` is used as it is at the start. */
  readonly configuration: () => MemoryConfiguration;
  /** The configured languages. */
  readonly pair: () => LanguagePair;
  readonly clock: Clock;
  /** Makes ULIDs. */
  readonly createId: () => string;
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
  /** Of the program. */
  readonly version: string;
}

/** Hears of records that others have replaced. */
export type SupersededListener = (recordIds: readonly string[]) => void;

/** The Translation Memory: known translations, and which of them may be used again. */
export interface Memory {
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly check: DoctorCheck;
  /** For other parts of the daemon. */
  readonly translationMemory: TranslationMemory;
  /** The listener hears of records of the main file that a reviewer has replaced by others, after it is done. */
  onSuperseded(listener: SupersededListener): void;
  /** The counts as they were last read; `null` before that, and while the file cannot be used. */
  latestCounts(): MemoryCounts | null;
  /** Counts the conflicts in the main file; `null` when it cannot be used. @throws the signal's reason */
  openConflicts(signal: AbortSignal): Promise<number | null>;
  /** Closes the files and ends the thread. */
  close(): Promise<void>;
}

/** Assembles the Translation Memory: the thread that owns its file, its reports, actions and jobs. */
export function createMemory(options: MemoryOptions): Memory {
  const { dataDirectory, configuration } = options;
  const main = join(dataDirectory, 'memory.db');
  const thread = createMemoryThread({ main, root: configuration().root ?? join(dataDirectory, 'memory') });
  const penaltyOf = (path: string | null): number => {
    const { penalties } = configuration();
    return path !== null && Object.hasOwn(penalties, path) ? (penalties[path] ?? 0) : 0;
  };
  const listeners: SupersededListener[] = [];
  const shared = {
    ...options,
    thread,
    penaltyOf,
    noteSuperseded: (recordIds: readonly string[]) => {
      for (const listener of listeners) listener(recordIds);
    },
  };
  let latest: MemoryCounts | null = null;
  let finding: string | null = null;
  return {
    reports: createMemoryReports({ ...shared, mainFile: basename(main) }),
    actions: createMemoryActions(shared),
    jobs: createMemoryJobs({
      ...shared,
      path: main,
      onChecked: (found) => {
        finding = found;
      },
    }),
    check: createMemoryCheck({
      thread,
      finding: () => finding,
      onCounted: (counts) => {
        latest = counts;
      },
    }),
    translationMemory: createTranslationMemory(shared),
    onSuperseded: (listener) => {
      listeners.push(listener);
    },
    latestCounts: () => latest,
    openConflicts: async (signal) => {
      try {
        return (await thread.call('summary', { path: null }, { signal })).counts.conflict_groups;
      } catch {
        signal.throwIfAborted();
        return null;
      }
    },
    close: async () => {
      await thread.call('close', null).catch(() => undefined);
      await thread.close();
    },
  };
}
