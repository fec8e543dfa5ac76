import { implementJob, type Job } from '../../engine/tasks/job.ts';
import { PARSE_FULL_JOB, PARSE_JOB, TEXT_DIFFERENCES_JOB } from './parse-jobs.ts';
import { parseTaskError, runParseTask, type ParseTaskDependencies } from './parse-task.ts';

export interface ParseJobDependencies extends ParseTaskDependencies {
  readonly onBegin: () => void;
  /** Called after every run that succeeded, before its task ends; its error fails the task. */
  readonly onIndexed: () => Promise<unknown>;
}

interface ParseJobs {
  readonly jobs: readonly Job[];
  readonly isRunning: () => boolean;
}

/** Creates the jobs of the parse index. */
export function createParseJobs(dependencies: ParseJobDependencies): ParseJobs {
  let running = 0;
  const parsing = (job: typeof PARSE_JOB | typeof PARSE_FULL_JOB): Job =>
    implementJob(job, async (context) => {
      running += 1;
      dependencies.onBegin();
      try {
        return await withTaskErrors(async () => {
          const result = await runParseTask(dependencies, context, job === PARSE_FULL_JOB);
          await dependencies.onIndexed();
          return result;
        });
      } finally {
        running -= 1;
      }
    });
  const differences = implementJob(
    TEXT_DIFFERENCES_JOB,
    async ({ args: { from, to, offset, limit }, signal }) => {
      const query = { fromRelease: from, toRelease: to, offset, limit };
      const found = await withTaskErrors(() => dependencies.thread.differences(query, { signal }));
      return {
        from,
        to,
        available: found !== null,
        total: found?.total ?? 0,
        next_offset: found?.nextOffset ?? null,
        items: found?.items ?? [],
      };
    },
  );
  return {
    jobs: [parsing(PARSE_JOB), parsing(PARSE_FULL_JOB), differences],
    isRunning: () => running > 0,
  };
}

/** Runs work of the parse thread. Its failures become TaskErrors. */
export async function withTaskErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw parseTaskError(error);
  }
}
