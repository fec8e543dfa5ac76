import type { RepetitionBatch, RepetitionPage, RepetitionPlace } from './repeated-targets.ts';
import type { RepeatingContainer } from './repeating-containers.ts';
import type { BuiltFor } from './task-update.ts';
import type { TranslationWork } from './translation-work.ts';

/** The functions of the thread for repetitions. */
export interface RepetitionCalls {
  /** The tasks that repetitions are in now. */
  currentTasks(argument: null): BuiltFor;
  /** Whether units wait for the target of another one. */
  wantsRepetitions(argument: null): boolean;
  /** Looks through a bounded part of new tasks for repetitions. @returns whether there may be more */
  sweepRepetitions(argument: null): boolean;
  /** Looks through the tasks again, because rules changed. */
  sweepRepetitionsAgain(argument: null): void;
  repetitionPage(after: RepetitionPlace | null): RepetitionPage;
  /** @returns how many were written; `null` when other tasks replaced those of the page */
  storeRepetitions(batch: RepetitionBatch): number | null;
  /** Containers of the current tasks after one of them, in pages. */
  repeatingContainers(afterTask: number): readonly RepeatingContainer[];
  setRepeating(changes: readonly Pick<RepeatingContainer, 'taskSeq' | 'repeats'>[]): void;
}

/** Creates the functions. @param use opens the database when it is needed */
export function createRepetitionCalls(
  use: <T>(call: (work: TranslationWork) => T) => T,
  now: () => number,
): RepetitionCalls {
  return {
    currentTasks: () => use(({ repetitions }) => repetitions.builtFor()),
    wantsRepetitions: () => use(({ repetitions }) => repetitions.hasWork()),
    sweepRepetitions: () => use(({ repetitions }) => repetitions.sweep()),
    sweepRepetitionsAgain: () => {
      use(({ repetitions }) => {
        repetitions.sweepAgain();
      });
    },
    repetitionPage: (after) => use(({ repetitions }) => repetitions.page(after, now())),
    storeRepetitions: (batch) => use(({ repetitions }) => repetitions.store(batch, now())),
    repeatingContainers: (afterTask) => use(({ containers }) => containers.after(afterTask)),
    setRepeating: (changes) => {
      use(({ containers }) => {
        containers.set(changes);
      });
    },
  };
}
