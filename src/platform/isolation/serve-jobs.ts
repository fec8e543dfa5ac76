import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { startBusyWatch } from './busy-watch.ts';
import {
  MAX_UNSTORED,
  type IsolatedAnswer,
  type IsolatedProgram,
  type IsolatedRequest,
} from './isolated-messages.ts';

/** The owner ends a job after its time. This much later nobody did: its thread has crashed. */
const OWNER_LATE_MS = 10_000;

/** Does the jobs of the owner of this process, one at a time. An error of a job ends the process, and the owner reports it for this job. */
export function serveJobs<Setup, Job, Piece, Result>(
  program: IsolatedProgram<Setup, Job, Piece, Result>,
): void {
  const busy = startBusyWatch(Number(process.argv[2]) + OWNER_LATE_MS);
  let doJob: ReturnType<typeof program> | null = null;
  let unstored = 0;
  let continueSending: (() => void) | null = null;

  const answer = (message: IsolatedAnswer<Piece, Result>): void => {
    // The owner that no longer listens has ended; so does this process, by the event `disconnect`.
    if (process.connected) process.send?.(message, () => undefined);
  };
  const send = async (piece: Piece): Promise<void> => {
    if (unstored === MAX_UNSTORED) {
      const { promise, resolve } = Promise.withResolvers<void>();
      continueSending = resolve;
      // The time of the owner does not count.
      busy.end();
      await promise;
      busy.begin();
    }
    unstored += 1;
    answer({ kind: 'piece', piece });
  };
  const work = async (job: Job, scratchDirectory: string): Promise<void> => {
    if (doJob === null) throw new Error('the setup comes before the first job');
    busy.begin();
    const result = await doJob(job, { scratchDirectory, send });
    busy.end();
    answer({ kind: 'done', result });
  };

  // Node saves compiled code only when a process exits normally, which the owner never waits for.
  flushCompileCache();
  process.on('message', (request: IsolatedRequest<Setup, Job>) => {
    if (request.kind === 'setup') doJob = program(request.setup);
    else if (request.kind === 'continue') {
      unstored -= 1;
      continueSending?.();
    }
    // An unexpected error ends the process.
    else void work(request.job, request.scratchDirectory);
  });
  process.on('disconnect', () => {
    process.exit(0);
  });
}
