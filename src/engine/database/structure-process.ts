import { serveJobs } from '../../platform/isolation/serve-jobs.ts';
import { checkFile } from './structure-of-file.ts';

// The program of a process that checks the structure of a database. SQLite cannot interrupt a check, and a process waits at its end
// for a thread in the middle of one; another process can be killed.

/** The result of a check. */
export interface CheckedStructure {
  /** The first finding, or `null`; of a file that is too damaged to be read, the message of SQLite. */
  readonly finding: string | null;
}

/** Sent after each step: the number of steps that are done. */
export type StepsDone = number;

serveJobs<null, string, StepsDone, CheckedStructure>(() => async (path, { send }) => {
  let done = 0;
  for (const finding of checkFile(path)) {
    if (finding !== null) return { finding };
    done += 1;
    await send(done);
  }
  return { finding: null };
});
