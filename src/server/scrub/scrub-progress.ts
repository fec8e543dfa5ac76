import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ScrubMetrics } from './scrub-metrics.ts';
import { SCRUB_STEPS } from './scrub-order.ts';
import { beginPass, type ScrubState } from './scrub-state.ts';
import type { ScrubStateStore } from './scrub-state-file.ts';

const SAVE_MS = 10_000;

/** The position of the scrub in its pass, kept across restarts. */
export interface ScrubProgress {
  readonly state: ScrubState;
  load(): Promise<void>;
  save(): Promise<void>;
  countBytes(bytes: number): void;
  finishObject(blake3: string, isDamaged: boolean): Promise<void>;
  /** Goes to the next step; returns false when the last step of the pass is finished. */
  finishStep(): Promise<boolean>;
  finishPass(): Promise<void>;
  beginPass(): Promise<void>;
}

/** Makes the progress of a scrub that starts at a random position. */
export function createScrubProgress(options: {
  readonly store: ScrubStateStore;
  readonly metrics: ScrubMetrics;
  /** Seconds between the end of a pass and the beginning of the next. */
  readonly restSeconds: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}): ScrubProgress {
  const { store, metrics, clock, logger } = options;
  const firstStep = Math.floor(options.random() * SCRUB_STEPS) % SCRUB_STEPS;
  let state = beginPass(1, firstStep, unixSeconds(clock), null);
  let savedAt = clock.monotonic();

  const save = async (): Promise<void> => {
    savedAt = clock.monotonic();
    await store.save(state);
  };

  const advance = async (next: Partial<ScrubState>): Promise<void> => {
    state = { ...state, ...next };
    metrics.show(state);
    if (clock.monotonic() - savedAt >= SAVE_MS) await save();
  };

  return {
    get state() {
      return state;
    },
    load: async () => {
      state = (await store.load()) ?? state;
      metrics.show(state);
    },
    save,
    countBytes: (bytes) => {
      metrics.bytes.inc(bytes);
      state = { ...state, bytes: state.bytes + bytes };
    },
    finishObject: async (blake3, isDamaged) => {
      const damaged = state.damaged + (isDamaged ? 1 : 0);
      await advance({ after: blake3, objects: state.objects + 1, damaged });
    },
    finishStep: async () => {
      if (state.steps_done + 1 >= SCRUB_STEPS) return false;
      await advance({ steps_done: state.steps_done + 1, after: '' });
      return true;
    },
    finishPass: async () => {
      const completedAt = unixSeconds(clock);
      const { pass, objects, bytes, damaged, begun_at: begunAt, first_step: step } = state;
      logger.info({ pass, objects, bytes, damaged, seconds: completedAt - begunAt }, 'scrub pass complete');
      metrics.show({ ...state, steps_done: SCRUB_STEPS, after: '', completed_at: completedAt });
      // Saved as the beginning of the next pass: a process that ends during the rest must not repeat this one.
      const begins = completedAt + options.restSeconds;
      state = beginPass(pass + 1, step, begins, completedAt);
      await save();
    },
    beginPass: async () => {
      await advance({ begun_at: unixSeconds(clock) });
    },
  };
}
