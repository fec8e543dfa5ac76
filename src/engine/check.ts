/** `degraded` needs attention, `failing` is broken. */
export type DoctorStatus = 'ok' | 'degraded' | 'failing';

/** The result of one check. */
export interface DoctorFinding {
  readonly status: DoctorStatus;
  /** The finding, and the advice for it. */
  readonly message: string;
  /** When the check got this status, Unix seconds, if the check knows it; default: when the status was first seen. */
  readonly since?: number;
  /** False while nothing has happened that the check judges; the status is then `ok`. Default: true. */
  readonly evaluated?: boolean;
  /** Whether only free space is missing; the check of free space then reports the cause. */
  readonly lacksSpace?: boolean;
  /** Free bytes of the volume that the check looked at, if it reads them. */
  readonly freeBytes?: number;
}

/** Why the checks run: somebody asked, or a minute has passed. */
export type DoctorTrigger = 'request' | 'interval';

/** One check of the doctor report. */
export interface DoctorCheck {
  /** Stable name, such as `store.writable`. */
  readonly id: string;
  /** Whether it also runs immediately when the daemon starts, because what it finds cannot wait for a minute. */
  readonly atStart?: true;
  /**
   * Must end soon after the signal is aborted. An error counts as `failing`.
   *
   * @param trigger default `request`; an expensive check may reuse an older result for `interval`
   */
  run(signal: AbortSignal, trigger?: DoctorTrigger): Promise<DoctorFinding> | DoctorFinding;
}
