import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { TargetsChanged } from '../../../text-events.ts';
import { createRepetitionQueue } from './repetition-queue.ts';
import { createTargetStore, type TargetStore } from './target-store.ts';
import type { JudgedBy } from './target-rows.ts';
import { createTaskCounts, type TaskCounts } from './task-counts.ts';

/** What the parts of the work in one target language share. */
export interface WorkTools {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: TargetStore;
  readonly counts: TaskCounts;
  /** Makes a ULID; later ones are greater. */
  readonly createId: () => string;
  /** Unix seconds. */
  readonly now: () => number;
  /** The event of stored targets. @param judgedBy of the new targets @param neverRepeats whether no unit can get a target from it */
  readonly eventOf: (change: {
    readonly judgedBy?: readonly (JudgedBy | null)[];
    readonly hasMoved?: boolean;
    readonly isOfRun?: boolean;
    readonly neverRepeats?: boolean;
  }) => TargetsChanged;
}

/** Creates the tools of an open database. */
export function createWorkTools(
  database: Database,
  {
    targetLanguage,
    createId,
    now,
  }: {
    readonly targetLanguage: string;
    readonly createId: () => string;
    readonly now: () => number;
  },
): WorkTools {
  const counts = createTaskCounts(database, targetLanguage);
  const queue = createRepetitionQueue(database, targetLanguage);
  return {
    database,
    targetLanguage,
    targets: createTargetStore(database, targetLanguage, counts),
    counts,
    createId,
    now,
    eventOf: ({ judgedBy = [], hasMoved = false, isOfRun = false, neverRepeats = false }) => ({
      kind: 'targets_changed',
      judgedBy: [...new Set(judgedBy.flatMap((by) => by?.key ?? []))],
      hasMoved,
      mayRepeat: !neverRepeats && queue.hasWork(),
      isOfRun,
    }),
  };
}
