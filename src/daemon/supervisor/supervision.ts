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
  /** Whether it had begun to listen. */
  readonly listened: boolean;
}

/** Whether an end was asked for: by the restart action, which ends a daemon that listens with 0, or by a handover. */
export function isWantedEnd({ code, listened }: ProcessEnd): boolean {
  return (code === 0 && listened) || code === EXIT_HANDED_OVER;
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
