import { z } from 'zod';
import { SCRUB_STEPS } from './scrub-order.ts';

const count = z.int().min(0);

const ScrubStateSchema = z.object({
  format: z.literal('slipway-scrub'),
  version: z.literal(1),
  pass: z.int().min(1),
  /** The step that the pass began with; the pass ends before it reaches this step again. */
  first_step: z
    .int()
    .min(0)
    .max(SCRUB_STEPS - 1),
  steps_done: z
    .int()
    .min(0)
    .max(SCRUB_STEPS - 1),
  /** Digest of the last object checked in the current step; empty at its beginning. */
  after: z.string().regex(/^(?:[0-9a-f]{64})?$/),
  begun_at: count,
  objects: count,
  bytes: count,
  damaged: count,
  /** When the last pass was completed, Unix seconds. */
  completed_at: count.nullable(),
});

/** The progress of the scrub, as its file has it. */
export type ScrubState = z.output<typeof ScrubStateSchema>;

/** The state at the beginning of a pass. */
export function beginPass(
  pass: number,
  firstStep: number,
  begunAt: number,
  completedAt: number | null,
): ScrubState {
  return {
    format: 'slipway-scrub',
    version: 1,
    pass,
    first_step: firstStep,
    steps_done: 0,
    after: '',
    begun_at: begunAt,
    objects: 0,
    bytes: 0,
    damaged: 0,
    completed_at: completedAt,
  };
}

/** The step that a pass is at, 0 to 255. */
export function stepOf({ first_step, steps_done }: ScrubState): number {
  return (first_step + steps_done) % SCRUB_STEPS;
}

/** Parses a state file; `null` if it is invalid. The state is only a hint, so nothing else is checked. */
export function parseScrubState(text: string): ScrubState | null {
  try {
    return ScrubStateSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
