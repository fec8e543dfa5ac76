import type { Clock } from '../../../platform/process/clock.ts';
import type { LoadedRules } from '../rules/load-rules.ts';
import type { ParseConfiguration } from '../rules/parse-config.ts';

/** The processes that work with containers. Their bytes come from outside, so each process has bounds. */
export interface ContainerProcesses {
  /** Those by which the official containers are parsed. */
  readonly rules: LoadedRules;
  /** Containers at a time. */
  readonly processes: number;
  /** For temporary files. */
  readonly scratchDirectory: string;
  /** Most resident memory of each process. */
  readonly memoryBytes: number;
  /** Longest time for one container. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** The configured bounds. */
export function processBounds({ processes, memoryMebibytes, timeoutSeconds }: ParseConfiguration): {
  readonly processes: number;
  readonly memoryBytes: number;
  readonly timeoutMs: number;
} {
  return { processes, memoryBytes: memoryMebibytes * 1024 * 1024, timeoutMs: timeoutSeconds * 1000 };
}

/** The names of the work and of its settings in messages. */
export function processNames(work: string): {
  readonly work: string;
  readonly timeoutSetting: string;
  readonly memorySetting: string;
} {
  return { work, timeoutSetting: 'parse.timeoutSeconds', memorySetting: 'parse.memoryMebibytes' };
}
