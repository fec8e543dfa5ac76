import { createIsolatedPool } from '../../../platform/isolation/isolated-pool.ts';
import { processNames, type ContainerProcesses } from '../../parse/process/container-processes.ts';
import type { LoadedRules } from '../../parse/rules/load-rules.ts';
import type { PatchFileResult, PatchJob, PatchOutcome } from './patch-file.ts';
import { rm } from '../../../platform/files/file-changes.ts';

export interface ContainerPatcher {
  /** Starts the process of the first container. */
  prepare(): void;
  /**
   * Patches one container and checks the result: every edited unit reads back exactly, everything else is unchanged.
   * After a failure nothing is at the output path.
   *
   * @throws the reason of the signal; an error with the code of errno when the output cannot be written
   */
  patch(job: PatchJob, signal: AbortSignal): Promise<PatchOutcome>;
  close(): void;
}

/** Creates the patcher; its processes start with the first containers, the first one earlier when it is prepared. */
export function createContainerPatcher(
  options: ContainerProcesses & { readonly program?: URL },
): ContainerPatcher {
  const pool = createIsolatedPool<LoadedRules, PatchJob, never, PatchFileResult>({
    program: new URL('./patch-process.ts', import.meta.url),
    ...options,
    setup: options.rules,
    names: processNames('patching'),
  });
  return {
    prepare: () => pool.prepare(),
    patch: async (job, signal) => {
      let isPatched = false;
      try {
        const outcome = await pool.run(job, () => undefined, signal);
        if (outcome.kind === 'failed') {
          const { kind, code, message } = outcome;
          return { kind, code, message, archiveEntry: null, fieldPath: null };
        }
        const { result } = outcome;
        if (result.kind === 'unwritable')
          throw Object.assign(new Error(result.message), { code: result.errno });
        isPatched = result.kind === 'patched';
        return result;
      } finally {
        if (!isPatched) await rm(job.outputPath, { force: true });
      }
    },
    close: () => pool.close(),
  };
}
