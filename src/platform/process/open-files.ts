import { readFileSync } from 'node:fs';

/** Where Linux says what a process may use. Source: proc_pid_limits(5). */
const LIMITS_FILE = '/proc/self/limits';
const HARD_LIMIT = /^Max open files\s+\S+\s+(\d+)\s/m;

/** How many files, connections and pipes a program has open together with its settings. */
export interface OpenFilesNeed {
  /** Below it the program cannot do its work. */
  readonly minimum: number;
  /** Enough for everything that the settings allow at the same time. */
  readonly recommended: number;
}

type OpenFilesProblem = { readonly isTooLow: boolean; readonly message: string } | null;

/**
 * Reads how many files this process may have open. Node raises its soft limit to the hard one when it starts, so the hard one counts.
 *
 * @returns `null` when there is no limit, or the system does not say it there
 */
export function readOpenFilesLimit(read = (): string => readFileSync(LIMITS_FILE, 'latin1')): number | null {
  try {
    const digits = HARD_LIMIT.exec(read())?.[1];
    return digits === undefined ? null : Number(digits);
  } catch {
    return null;
  }
}

/** Compares the limit of open files with what a program needs. */
export function openFilesProblem(limit: number | null, need: OpenFilesNeed): OpenFilesProblem {
  if (limit === null || limit >= need.recommended) return null;
  const isTooLow = limit < need.minimum;
  const needs = isTooLow
    ? `needs at least ${need.minimum}, and ${need.recommended} for everything that its settings allow`
    : `needs ${need.recommended} for everything that its settings allow, so under load some requests or downloads will fail`;
  return {
    isTooLow,
    message:
      `open files: the limit is ${limit} (ulimit -Hn), and this program ${needs}; ` +
      `set ulimit -n ${need.recommended} (systemd: LimitNOFILE=${need.recommended}; containers: --ulimit nofile=${need.recommended})`,
  };
}
