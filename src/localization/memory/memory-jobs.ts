import { z } from 'zod';
import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { checkStructureInThread } from '../../engine/database/structure-thread.ts';
import { implementJob, type Job, type JobDefinition } from '../../engine/tasks/job.ts';
import { TaskError, type TaskResult } from '../../engine/tasks/task.ts';
import { exportMemory, importMemory, type MemoryExchangeDependencies } from './exchange-memory.ts';
import { MEMORY_EXPORT_JOB, MEMORY_IMPORT_JOB } from './memory-exchange-jobs.ts';
import { unavailableReason } from './memory-failure.ts';

export const MEMORY_MAINTAIN_JOB = {
  kind: 'memory-maintain',
  summary: 'Checks the file of the Translation Memory, and keeps its text indexes compact.',
  lane: 'i18n',
  scope: 'operate',
  groups: ['i18n'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

/** The jobs of the Translation Memory, in the order of the reference. */
export const MEMORY_JOBS = [MEMORY_MAINTAIN_JOB, MEMORY_IMPORT_JOB, MEMORY_EXPORT_JOB] as const;

interface MemoryJobDependencies extends MemoryExchangeDependencies {
  readonly path: string;
  /** Called with the finding of each check of the structure, `null` when it found nothing. */
  readonly onChecked: (finding: string | null) => void;
}

/** Creates the jobs of the Translation Memory. */
export function createMemoryJobs(dependencies: MemoryJobDependencies): readonly Job[] {
  return [
    implementJob(
      MEMORY_MAINTAIN_JOB,
      async ({ signal }) => await withTaskErrors(signal, () => maintain(dependencies, signal)),
    ),
    implementJob(
      MEMORY_IMPORT_JOB,
      async (context) => await withTaskErrors(context.signal, () => importMemory(dependencies, context)),
    ),
    implementJob(
      MEMORY_EXPORT_JOB,
      async (context) => await withTaskErrors(context.signal, () => exportMemory(dependencies, context)),
    ),
  ];
}

async function maintain(
  { thread, path, onChecked }: MemoryJobDependencies,
  signal: AbortSignal,
): Promise<TaskResult> {
  const finding = await checkStructureInThread(path);
  onChecked(finding);
  if (finding !== null) throw new TaskError('memory_damaged', unavailableReason(new Error(finding)));
  signal.throwIfAborted();
  return { merge_steps: await thread.maintain(null, { signal }) };
}

async function withTaskErrors(signal: AbortSignal, run: () => Promise<TaskResult>): Promise<TaskResult> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TaskError || errorCode(error) !== 'unavailable') throw error;
    throw new TaskError('memory_unavailable', messageOf(error), { cause: error });
  }
}
