import { z } from 'zod';
import { SCRUB_STEPS } from './scrub-order.ts';

const count = z.int().min(0);

const schema = z.object({
  format: z.literal('slipway-scrub'),
  version: z.literal(1),
  pass: z.int().min(1),
  first_step: z
    .int()
    .min(0)
    .max(SCRUB_STEPS - 1),
  steps_done: z
    .int()
    .min(0)
    .max(SCRUB_STEPS - 1),
  after: z.string().regex(/^(?:[0-9a-f]{64})?$/),
  begun_at: count,
  objects: count,
  bytes: count,
  damaged: count,
  completed_at: count.nullable(),
});

/** The progress of the scrub. */
export interface ScrubState {
  readonly pass: number;
  /** The step that the pass began with; the pass ends before it reaches this step again. */
  readonly firstStep: number;
  readonly stepsDone: number;
  /** Digest of the last object checked in the current step; empty at its beginning. */
  readonly after: string;
  readonly begunAt: number;
  readonly objects: number;
  readonly bytes: number;
  readonly damaged: number;
  /** Time when the last pass was completed, Unix seconds. */
  readonly completedAt: number | null;
}

/** The state at the beginning of a pass. */
export function beginPass(
  options: Pick<ScrubState, 'pass' | 'firstStep' | 'begunAt' | 'completedAt'>,
): ScrubState {
  return { ...options, stepsDone: 0, after: '', objects: 0, bytes: 0, damaged: 0 };
}

/** The step that a pass is at, 0 to 255. */
export function stepOf({ firstStep, stepsDone }: ScrubState): number {
  return (firstStep + stepsDone) % SCRUB_STEPS;
}

/** Renders a state as the text of its file. */
export function renderScrubState(state: ScrubState): string {
  const file: z.output<typeof schema> = {
    format: 'slipway-scrub',
    version: 1,
    pass: state.pass,
    first_step: state.firstStep,
    steps_done: state.stepsDone,
    after: state.after,
    begun_at: state.begunAt,
    objects: state.objects,
    bytes: state.bytes,
    damaged: state.damaged,
    completed_at: state.completedAt,
  };
  return `${JSON.stringify(file)}\n`;
}

/** Parses a state file; `null` if it is invalid. The state is only a hint, so nothing else is checked. */
export function parseScrubState(text: string): ScrubState | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) return null;
  const { pass, first_step, steps_done, after, begun_at, objects, bytes, damaged, completed_at } =
    parsed.data;
  return {
    pass,
    firstStep: first_step,
    stepsDone: steps_done,
    after,
    begunAt: begun_at,
    objects,
    bytes,
    damaged,
    completedAt: completed_at,
  };
}
