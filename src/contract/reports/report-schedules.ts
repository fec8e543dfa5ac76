import { z } from 'zod';
import { int64 } from '../schemas/int64.ts';
import { SCHEDULE_GROUPS, SCHEDULE_ORIGINS } from '../schemas/vocabulary.ts';
import { Count, UnixSeconds } from '../schemas/answers/common.ts';
import { report } from './report-envelope.ts';

/** One schedule. */
export const ScheduleSchema = z.object({
  id: z.string(),
  group: z.enum(SCHEDULE_GROUPS),
  origin: z
    .enum(SCHEDULE_ORIGINS)
    .describe(
      '`configured`: follows the configuration of the daemon. `controller`: belongs to a ReleaseChannel. `manual`: added by any other caller.',
    ),
  replaced_by: z
    .string()
    .nullable()
    .describe(
      'The schedule of a ReleaseChannel that replaces this configured one while it exists. Null: this schedule runs.',
    ),
  action: z.string(),
  args: z.array(z.string()).describe('`key=value` pairs.'),
  enabled: z.boolean(),
  next_run_unix_seconds: int64().nullable().describe('Null when it will not run again.'),
  every_seconds: int64({ min: 1 }).nullable().describe('Null for a schedule that runs once.'),
  max_runs: int64({ min: 1 }).nullable(),
  run_count: Count,
  last_run_unix_seconds: UnixSeconds.nullable(),
  last_task_id: z.string().nullable(),
  last_status: z.string().nullable(),
  skipped_overlap: Count.describe('Runs that were skipped because the previous one was still active.'),
  exhausted: z.boolean().describe('Whether `max_runs` is reached.'),
});

/** `schedule.list`. */
export const ScheduleListReport = report({
  total: Count,
  items: z.array(ScheduleSchema).describe('Ordered by `id`.'),
});
