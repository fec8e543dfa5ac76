import { performance } from 'node:perf_hooks';
import process from 'node:process';
import type { FakeClock } from '../../fakes/fake-clock.ts';

/** Turns of the event loop without an event after which nothing more follows. */
const QUIET_TURNS = 3;
/** Milliseconds that the clock moves while something stops. */
const STEP_MS = 100;
/** Work of the thread pool of Node, and requests to the system that have not ended. */
const PENDING = /Req|REQUEST|ConnectWrap|WriteWrap|ShutdownWrap/;

/**
 * Lets everything run that is ready to run: until no file is accessed, no message is under way, and nobody has anything to do before
 * the clock moves. All parts are in this process, so this needs no wait.
 */
export async function settle(): Promise<void> {
  let seen = -1;
  for (let quiet = 0; quiet <= QUIET_TURNS; quiet += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    const { events } = performance.nodeTiming.uvMetricsInfo;
    if (events === seen && !process.getActiveResourcesInfo().some((name) => PENDING.test(name))) continue;
    seen = events;
    quiet = 0;
  }
}

/** Waits for work that itself waits for the clock, such as the end of a loop. An error of it is of no interest here. */
export async function whileTimePasses(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
  };
  work.then(end, end);
  for (;;) {
    await settle();
    if (hasEnded) return;
    await clock.skip(STEP_MS);
  }
}
