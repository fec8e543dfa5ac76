/** How an earlier process of the daemon ended. */
export interface ProcessEnd {
  /** Exit code; `null` when a signal ended the process. */
  readonly code: number | null;
  /** The signal that ended the process, or `null`. */
  readonly signal: string | null;
  /** Unix seconds. */
  readonly at: number;
  /** Seconds that the process lived. */
  readonly lived_seconds: number;
}

/** The history of a supervised daemon: the processes before this one. */
export interface Supervision {
  /** How often the supervisor started the daemon again. */
  readonly restarts: number;
  /** The newest ends, oldest first. */
  readonly ends: readonly ProcessEnd[];
}

/** The environment variable that holds the {@link Supervision} as JSON. */
export const SUPERVISION_VARIABLE = 'DAEMON_SUPERVISION';

/**
 * Exit code of a daemon that handed its data folder over to one that waited for it: the supervisor starts it again, as a
 * standby. Source: sysexits.h, EX_TEMPFAIL.
 */
export const EXIT_HANDED_OVER = 75;

/**
 * Whether the process before this one handed its data folder over. Such a daemon does not ask for it. Ends before that one do not
 * count: the daemon has waited or held the folder since.
 */
export function hasHandedOver(supervision: Supervision | null): boolean {
  return supervision?.ends.at(-1)?.code === EXIT_HANDED_OVER;
}
