import type { ScheduleGroup } from '../../contract/schemas/vocabulary.ts';

/** A schedule as it is stored and reported. */
export interface Schedule {
  readonly id: string;
  readonly group: ScheduleGroup;
  readonly action: string;
  /** `key=value` pairs for the arguments of the job that `action` names. */
  readonly args: readonly string[];
  readonly enabled: boolean;
  /** `null` when it will not run by itself again; never `null` while it is enabled. */
  readonly next_run_unix_seconds: number | null;
  /** `null` for a schedule that runs once. */
  readonly every_seconds: number | null;
  readonly max_runs: number | null;
  readonly run_count: number;
  readonly last_run_unix_seconds: number | null;
  readonly last_task_id: string | null;
  /** Status of the last run's task; `failed` when the run could not be queued. */
  readonly last_status: string | null;
  /** Runs left out because the one before was still active. */
  readonly skipped_overlap: number;
  /** Whether `max_runs` is reached. */
  readonly exhausted: boolean;
}

/** Maximum number of schedules that one daemon keeps. */
export const MAX_SCHEDULES = 1000;
