import { ServiceError } from '../../contract/problems/service-error.ts';
import { implementJob, type Job } from '../tasks/job.ts';
import { TaskError, type TaskResult } from '../tasks/task.ts';
import { exportGlossary } from './export-glossary.ts';
import { glossaryError } from './glossary-failure.ts';
import type { GlossaryExchangeDependencies } from './glossary-exchange.ts';
import { GLOSSARY_EXPORT_JOB, GLOSSARY_IMPORT_JOB } from './glossary-jobs.ts';
import { importGlossary } from './import-glossary.ts';

/** Creates the jobs of the Glossary. */
export function createGlossaryJobs(dependencies: GlossaryExchangeDependencies): readonly Job[] {
  return [
    implementJob(
      GLOSSARY_IMPORT_JOB,
      async (context) => await withTaskErrors(context.signal, () => importGlossary(dependencies, context)),
    ),
    implementJob(
      GLOSSARY_EXPORT_JOB,
      async (context) => await withTaskErrors(context.signal, () => exportGlossary(dependencies, context)),
    ),
  ];
}

async function withTaskErrors(signal: AbortSignal, run: () => Promise<TaskResult>): Promise<TaskResult> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    const known = glossaryError(error);
    if (!(known instanceof ServiceError)) throw known;
    const isUnavailable = known.code === 'backend_unavailable';
    throw new TaskError(isUnavailable ? 'glossary_unavailable' : known.code, known.message, { cause: error });
  }
}
