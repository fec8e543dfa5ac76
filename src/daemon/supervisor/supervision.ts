import type { z } from 'zod';
import type { ProcessEndSchema } from '../../contract/reports/report-daemon.ts';

/** How an earlier process of the daemon ended. */
export type ProcessEnd = z.output<typeof ProcessEndSchema>;

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
