import { createRandom } from '../../../demo/game/seeded-random.ts';
import { drawSteps, HEAL, STEPS, type Step } from './steps.ts';
import { World } from './world.ts';

/** Lines of the log of each site that a failure shows. */
const LOG_LINES = 30;

/** A run that broke a promise. */
export interface Failure {
  readonly seed: number;
  readonly steps: readonly Step[];
  /** The position of the step after which the promise was broken. */
  readonly at: number;
  readonly error: Error;
  /** The newest log lines of all programs. */
  readonly log: readonly string[];
}

/** Draws the steps of a seed. */
export function stepsOf(seed: number, count: number): Step[] {
  return drawSteps(createRandom(seed), count);
}

/**
 * Plays steps in a new world. After each one it waits until nothing is in progress, and checks what must hold.
 *
 * @returns `null`, or the step at which a promise was broken
 */
export async function simulate(
  seed: number,
  steps: readonly Step[],
  onStep: (step: Step, at: number) => void = () => undefined,
): Promise<Failure | null> {
  const world = await World.open(seed);
  let at = 0;
  try {
    for (; at < steps.length; at += 1) {
      const step = steps[at] ?? HEAL;
      onStep(step, at);
      await STEPS[step.kind].play(world, step.numbers);
      await world.quiet();
      await world.check();
    }
    return null;
  } catch (error) {
    const failed = error instanceof Error ? error : new Error(String(error));
    return { seed, steps, at, error: failed, log: world.sites.flatMap((site) => site.log.slice(-LOG_LINES)) };
  } finally {
    await world.close();
  }
}

/** Leaves out the steps that a failure does not need: halves of them first, then smaller parts. */
export async function shrink(failure: Failure, onSmaller: (failure: Failure) => void): Promise<Failure> {
  let smallest: Failure = { ...failure, steps: failure.steps.slice(0, failure.at + 1) };
  for (
    let size = Math.ceil(smallest.steps.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = 0; from + 1 < smallest.steps.length;) {
      const fewer = smallest.steps.toSpliced(from, Math.min(size, smallest.steps.length - 1 - from));
      const again = await simulate(failure.seed, fewer);
      if (again === null) {
        from += size;
        continue;
      }
      smallest = { ...again, steps: fewer.slice(0, again.at + 1) };
      onSmaller(smallest);
    }
  }
  return smallest;
}
