import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import { basename, join } from 'node:path';
import type { LanguagePair } from '../../domain/memory/memory-record.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { openThread, type Thread } from '../../platform/threads/thread.ts';
import { publishEvents, type Publisher } from '../../engine/events/events.ts';
import { type EmptyAnswers, withoutThreadWhileEmpty } from '../../engine/database/empty-store.ts';
import type { RecordsSuperseded } from '../text-events.ts';
import type { DefinedAction } from '../../engine/define-action.ts';
import type { DefinedReport } from '../../engine/define-report.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import type { Job } from '../../engine/tasks/job.ts';
import { memoryActions } from './memory-actions.ts';
import type { MemoryConfiguration } from './memory-config.ts';
import { memoryJobs } from './memory-jobs.ts';
import { memoryReports } from './memory-reports.ts';
import type { MemoryStore, MemoryThread } from './memory-worker.ts';
import type { MemoryCounts } from './store/memory-reads.ts';
import { createTranslationMemory, type TranslationMemory } from './translation-memory.ts';
import { countText } from '../../domain/count-text.ts';
import { RESTORE_ADVICE, unavailableReason } from './memory-failure.ts';

interface MemoryOptions {
  readonly dataDirectory: string;
  readonly engine: TaskEngine;
  /** `root` is used as it is at the start. */
  readonly configuration: () => MemoryConfiguration;
  readonly pair: () => LanguagePair;
  readonly clock: Clock;
  readonly createId: () => string;
  readonly exchangeRoot: () => string;
  readonly version: string;
  /** Hears of records of the main file that a reviewer has replaced by others. */
  readonly events: Publisher<RecordsSuperseded>;
  readonly thread?: Thread<MemoryStore>;
}

/** The Translation Memory: known translations, and which of them may be used again. */
export interface Memory {
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly check: DoctorCheck;
  readonly translationMemory: TranslationMemory;
  /** The counts as they were last read; `null` before that, and while the file cannot be used. */
  latestCounts(): MemoryCounts | null;
  /** Counts the conflicts in the main file; `null` when it cannot be used. @throws the signal's reason */
  openConflicts(signal: AbortSignal): Promise<number | null>;
  close(): Promise<void>;
}

/** Assembles the Translation Memory: the thread that owns its file, its reports, actions and jobs. */
export function createMemory(options: MemoryOptions): Memory {
  const { dataDirectory, configuration } = options;
  const main = join(dataDirectory, 'memory.db');
  const root = configuration().root ?? join(dataDirectory, 'memory');
  const { thread: owner = openMemoryThread(main, root) } = options;
  const thread = withoutThreadWhileEmpty(publishEvents(owner.calls, options.events), main, EMPTY_ANSWERS);
  const penaltyOf = (path: string | null): number => {
    const { penalties } = configuration();
    return path !== null && Object.hasOwn(penalties, path) ? (penalties[path] ?? 0) : 0;
  };
  const shared = { ...options, thread, penaltyOf };
  let latest: MemoryCounts | null = null;
  let finding: string | null = null;
  return {
    reports: memoryReports({ ...shared, mainFile: basename(main) }),
    actions: memoryActions(shared),
    jobs: memoryJobs({
      ...shared,
      path: main,
      onChecked: (found) => {
        finding = found;
      },
    }),
    check: memoryCheck({
      thread,
      finding: () => finding,
      onCounted: (counts) => {
        latest = counts;
      },
    }),
    translationMemory: createTranslationMemory(shared),
    latestCounts: () => latest,
    openConflicts: async (signal) => {
      try {
        return (await thread.summary({ path: null }, { signal })).counts.conflict_groups;
      } catch {
        signal.throwIfAborted();
        return null;
      }
    },
    close: async () => {
      await thread.close().catch(() => undefined);
      await owner.close();
    },
  };
}

const NO_RECORDS: MemoryCounts = {
  counts: { candidate: 0, trusted: 0, superseded: 0, rejected: 0, conflict_groups: 0 },
  pairs: [],
};
const EMPTY_ANSWERS: EmptyAnswers<MemoryStore> = {
  summary: ({ path }) => (path === null ? NO_RECORDS : undefined),
  damage: () => null,
};

/** MiB. The pages of the files are outside of this heap; batches and answers are in it. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 128 };

/** A search takes milliseconds, so it never runs on the event loop. */
function openMemoryThread(main: string, root: string): Thread<MemoryStore> {
  return openThread<MemoryStore>({
    purpose: 'owns the Translation Memory',
    module: new URL('./memory-worker.ts', import.meta.url),
    data: { main, root },
    limits: THREAD_LIMITS,
  });
}

/** The doctor check `database.memory`: whether the main file can be used. */
function memoryCheck({
  thread,
  finding,
  onCounted,
}: {
  readonly thread: MemoryThread;
  readonly finding: () => string | null;
  /** Called with the counts of each run; `null` when the file cannot be used. */
  readonly onCounted: (counts: MemoryCounts | null) => void;
}): DoctorCheck {
  return {
    id: 'database.memory',
    atStart: true,
    run: async (signal) => {
      try {
        const found = await thread.summary({ path: null }, { signal });
        onCounted(found);
        const damage = finding() ?? (await thread.damage(null, { signal }));
        if (damage !== null) return { status: 'failing', message: `damaged: ${damage}; ${RESTORE_ADVICE}` };
        const { trusted, candidate, conflict_groups: conflicts } = found.counts;
        return {
          status: 'ok',
          message: `${countText(trusted, 'trusted record')} and ${countText(candidate, 'candidate')}, ${countText(conflicts, 'conflict')}`,
        };
      } catch (error) {
        signal.throwIfAborted();
        onCounted(null);
        return { status: 'failing', message: unavailableReason(error) };
      }
    },
  };
}
