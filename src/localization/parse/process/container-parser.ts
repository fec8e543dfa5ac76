import { createIsolatedPool } from '../../../platform/isolation/isolated-pool.ts';
import type { ContainerJob } from '../container/parse-container.ts';
import { failedContainer, type ContainerOutcome, type ParsedUnit } from '../container/parsed-container.ts';
import type { LoadedRules } from '../rules/load-rules.ts';
import { processNames, type ContainerProcesses } from './container-processes.ts';
import { unpackUnits, type UnitBatch } from './unit-batch.ts';

export interface ContainerParser {
  /**
   * Parses one container as soon as a process is free. A process that crashes, exceeds its memory or its time costs only this
   * container; the next one gets a new process. A container that exceeds the memory in a process that already parsed others is
   * parsed again in a new one, and only the units that it did not hand over before reach `onUnits`.
   *
   * @param onUnits called with at most 1,000 units at a time, one call after the other; the process runs ahead by a bounded
   *   number of them
   * @returns the outcome, and the seconds that it took
   * @throws the reason of the signal; the error of `onUnits`
   */
  parse(
    job: ContainerJob,
    onUnits: (units: readonly ParsedUnit[]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<ContainerOutcome & { readonly seconds: number }>;
  close(): void;
}

/** Creates a parser; its processes start with the first containers, the first one earlier when it is prepared. The time for a container is without that of `onUnits`. */
export function createContainerParser(
  options: ContainerProcesses & { readonly program?: URL },
): ContainerParser & { prepare(): void } {
  const pool = createIsolatedPool<LoadedRules, ContainerJob, UnitBatch, ContainerOutcome>({
    program: new URL('./parse-process.ts', import.meta.url),
    ...options,
    setup: options.rules,
    names: processNames('parsing'),
  });
  return {
    prepare: () => pool.prepare(),
    parse: async (job, onUnits, signal) => {
      const done = await pool.run(job, async (units) => await onUnits(unpackUnits(units)), signal);
      const outcome = done.kind === 'done' ? done.result : failedContainer(done.code, done.message);
      return { ...outcome, seconds: done.seconds };
    },
    close: () => pool.close(),
  };
}
