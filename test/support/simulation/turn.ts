import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import type { FakeClock } from '../../fakes/fake-clock.ts';

/** Turns of the event loop without file access after which nothing more follows from it. */
const QUIET_TURNS = 4;
/** Milliseconds that the clock moves while something stops. */
const STEP_MS = 100;

/** Lets everything run that is ready to run, and waits until no file is accessed. */
export async function turn(): Promise<void> {
  for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    if (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) {
      await delay(0);
      quiet = 0;
    }
  }
}

/** Waits for work that itself waits for the clock, such as the end of a loop. An error of it is of no interest here. */
export async function whileTimePasses(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  const ended = work.then(
    () => true,
    () => true,
  );
  const passed = async (): Promise<boolean> => {
    await clock.skip(STEP_MS);
    await turn();
    return false;
  };
  while (!(await Promise.race([ended, passed()])));
}
