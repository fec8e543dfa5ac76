import { rm } from 'node:fs/promises';
import { createIsolatedWorker } from '../../../platform/isolation/isolated-worker.ts';
import { createWorkerPool } from '../../../platform/isolation/worker-pool.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { LoadedRules } from '../../parse/rules/load-rules.ts';
import type { ContainerPatcher, PatchJob } from './container-patcher.ts';
import type { PatchFileResult } from './patch-file.ts';

export interface ContainerPatcherOptions {
  /** The rules by which the official containers were parsed. */
  readonly rules: LoadedRules;
  /** Containers that are patched at a time. */
  readonly processes: number;
  /** A folder for temporary files. */
  readonly scratchDirectory: string;
  /** Most resident memory of a process. */
  readonly memoryBytes: number;
  /** Longest time for one container. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The program of a process; tests can use another one. */
  readonly program?: URL;
}

const NAMES = {
  work: 'patching',
  timeoutSetting: 'parse.timeoutSeconds',
  memorySetting: 'parse.memoryMebibytes',
};

/** Creates the patcher; its processes start with the first containers. */
export function createContainerPatcher({
  rules,
  processes,
  program,
  ...limits
}: ContainerPatcherOptions): ContainerPatcher {
  const workers = Array.from({ length: processes }, () =>
    createIsolatedWorker<LoadedRules, PatchJob, never, PatchFileResult>({
      ...limits,
      program: program ?? new URL('./patch-process.ts', import.meta.url),
      setup: rules,
      names: NAMES,
    }),
  );
  const pool = createWorkerPool(workers);
  return {
    patch: async (job, signal) =>
      await pool.use(async (worker) => {
        try {
          const outcome = await worker.run(job, () => undefined, signal);
          const result: PatchFileResult =
            outcome.kind === 'done' ? outcome.result : { ...outcome, archiveEntry: null, fieldPath: null };
          if (result.kind === 'patched') return result;
          await rm(job.outputPath, { force: true });
          if (result.kind === 'failed') return result;
          throw Object.assign(new Error(result.message), { code: result.errno });
        } catch (error) {
          await rm(job.outputPath, { force: true });
          throw error;
        }
      }),
    close: () => {
      for (const worker of workers) worker.close();
    },
  };
}
