import type { ScheduleGroup, ScheduleOrigin } from '../../contract/schemas/vocabulary.ts';

/** A schedule as it is stored and reported. */
export interface Schedule {
  readonly id: string;
  readonly group: ScheduleGroup;
  readonly origin: ScheduleOrigin;
  readonly action: string;
  /** `key=value` pairs for the arguments of the job that `action` names. */
  readonly args: readonly string[];
  readonly enabled: boolean;
  /** `null` when no further run is planned; never `null` while the schedule is enabled. */
  readonly next_run_unix_seconds: number | null;
  /** `null` for a schedule that runs once. */
  readonly every_seconds: number | null;
  readonly max_runs: number | null;
  readonly run_count: number;
  readonly last_run_unix_seconds: number | null;
  readonly last_task_id: string | null;
  /** Status of the last run's task; `failed` when the run could not be queued. */
  readonly last_status: string | null;
  /** Runs skipped because the previous one was still active. */
  readonly skipped_overlap: number;
  /** Whether `max_runs` is reached. */
  readonly exhausted: boolean;
}

/** The history of a schedule that has not run yet. */
export const NEVER_RUN = {
  run_count: 0,
  last_run_unix_seconds: null,
  last_task_id: null,
  last_status: null,
  skipped_overlap: 0,
  exhausted: false,
} as const satisfies Partial<Schedule>;

/** A schedule as reports and actions answer with it. */
export interface ReportedSchedule extends Schedule {
  /** The schedule of a ReleaseChannel that replaces this configured one, or `null`. */
  readonly replaced_by: string | null;
}

/** Maximum number of schedules of one daemon. */
export const MAX_SCHEDULES = 1000;
