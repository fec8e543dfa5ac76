import { createIsolatedWorker } from '../../../platform/isolation/isolated-worker.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { ContainerJob } from '../container/parse-container-file.ts';
import { failedContainer, type ContainerOutcome, type ParsedUnit } from '../container/parsed-container.ts';
import type { LoadedRules } from '../rules/load-rules.ts';
import { unpackUnits, type UnitBatch } from './unit-batch.ts';

/** Parses containers in a process of its own, one at a time. */
export interface ParseWorker {
  /**
   * Parses one container. A process that crashes, exceeds its memory or its time costs only this container; the next one
   * gets a new process. A container that exceeds the memory in a process that already parsed others is parsed again in a new
   * one, and only the units that it did not hand over before reach `onUnits`.
   *
   * @param onUnits called with at most 1,000 units at a time, one call after the other; the process runs ahead by a bounded
   * number of them
   * @throws the reason of the signal; the error of `onUnits`
   */
  parse(
    job: ContainerJob,
    onUnits: (units: readonly ParsedUnit[]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<ContainerOutcome>;
  /** Ends the process. */
  close(): void;
}

export interface ParseWorkerOptions {
  readonly rules: LoadedRules;
  /** A folder for temporary files. Each process has a folder in it, which is removed when the process has ended. */
  readonly scratchDirectory: string;
  /** Most resident memory of the process. */
  readonly memoryBytes: number;
  /** Longest time for one container, without the time that `onUnits` takes. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The program of the process; tests can use another one. */
  readonly program?: URL;
}

const NAMES = {
  work: 'parsing',
  timeoutSetting: 'parse.timeoutSeconds',
  memorySetting: 'parse.memoryMebibytes',
};

/** Creates a worker; its process starts with the first container. */
export function createParseWorker({ rules, program, ...limits }: ParseWorkerOptions): ParseWorker {
  const worker = createIsolatedWorker<LoadedRules, ContainerJob, UnitBatch, ContainerOutcome>({
    ...limits,
    program: program ?? new URL('./parse-process.ts', import.meta.url),
    setup: rules,
    names: NAMES,
  });
  return {
    parse: async (job, onUnits, signal) => {
      const outcome = await worker.run(job, async (units) => await onUnits(unpackUnits(units)), signal);
      return outcome.kind === 'done' ? outcome.result : failedContainer(outcome.code, outcome.message);
    },
    close: () => {
      worker.close();
    },
  };
}
