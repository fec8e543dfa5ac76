import { z } from 'zod';
import { LOG_LINE_LEVELS, TASK_LANES, TASK_STATUSES } from '../schemas/vocabulary.ts';
import { Count, Counts, UnixSeconds } from '../schemas/answers/common.ts';
import { report } from './report-envelope.ts';

const JsonObject = z.looseObject({});

const LogLineSchema = z.object({
  ts: z.number().min(0).describe('Unix seconds, with milliseconds as the fraction.'),
  level: z.enum(LOG_LINE_LEVELS),
  msg: z.string(),
  task_id: z.string().optional(),
  fields: JsonObject.optional().describe('The other fields of the line; long values are cut.'),
});

/** One task of the daemon. */
export const TaskSchema = z.object({
  task_id: z.string().describe('ULID.'),
  kind: z.string().describe('The work of the task: the action, or the name of background work.'),
  lane: z.enum(TASK_LANES),
  status: z.enum(TASK_STATUSES),
  args: JsonObject.describe('The arguments of the task.'),
  attempt: Count.describe('1 in the first run, 0 before it.'),
  max_attempts: z.int().min(1),
  run_at: UnixSeconds.describe('Earliest start; Unix seconds.'),
  created_at: UnixSeconds,
  started_at: UnixSeconds.nullable(),
  finished_at: UnixSeconds.nullable(),
  cancel_requested_at: UnixSeconds.nullable(),
  cancel_reason: z.string().nullable(),
  progress: z
    .object({
      done: z.number().min(0),
      total: z.number().min(0).nullable(),
      unit: z.string(),
      phase: z.string(),
    })
    .nullable(),
  result: JsonObject.nullable(),
  failure_code: z.string().nullable(),
  failure_reason: z.string().nullable(),
  schedule_id: z.string().nullable(),
  reviewer: z.string().nullable(),
  reason: z.string().nullable(),
  correlation_id: z.string().nullable().describe('The request that created the task.'),
});

/** How a process of the daemon ended. */
export const ProcessEndSchema = z.object({
  code: z.int().nullable().describe('Exit code; null when a signal ended the process.'),
  signal: z.string().nullable().describe('The signal that ended the process, such as SIGKILL.'),
  at: UnixSeconds,
  lived_seconds: z.number().min(0),
  listened: z.boolean().describe('Whether it had begun to listen.'),
});

/** `daemon.doctor`. */
export const DoctorReport = report({
  status: z.enum(['ok', 'degraded', 'failing']).describe('The worst of the checks.'),
  checks: z.array(
    z.object({
      id: z.string(),
      status: z.enum(['ok', 'degraded', 'failing']),
      message: z.string().describe('The finding and what to do.'),
      since: UnixSeconds.describe('When the check got this status; Unix seconds.'),
      evaluated: z
        .boolean()
        .describe(
          'False while nothing has happened that the check judges, such as a first sync; its status is then `ok`.',
        ),
    }),
  ),
  process: z
    .object({
      supervised: z.boolean().describe('Whether a supervisor starts the daemon again when it ends.'),
      restarts: Count.describe('How often the supervisor started the daemon again.'),
      last_exit: ProcessEndSchema.nullable().describe(
        'How the process before this one ended. Null for the first one.',
      ),
    })
    .describe('The process of the daemon.'),
  storage: z
    .object({
      measured_at: UnixSeconds.describe(
        'Unix seconds; normally at most a minute before the answer was made, and never more than ten.',
      ),
      total_bytes: Count.describe('Size of the snapshot volume.'),
      free_bytes: Count.describe('Free for the daemon.'),
      current_bytes: Count.describe('Objects of the current releases.'),
      retained_bytes: Count.describe(
        'Further objects, of releases that a cleanup keeps or of one that is being fetched.',
      ),
      reclaimable_bytes: Count.describe(
        'Objects that only releases beyond the limits contain, or none: a cleanup deletes them, after the time for which unused objects are kept.',
      ),
      quarantine_bytes: Count.describe('Damaged objects, kept for diagnosis.'),
    })
    .nullable()
    .describe(
      'Use of the snapshot volume. Null for a standby, until it is measured, and when it could not be measured for ten minutes.',
    ),
});

/** `daemon.logs`. */
export const LogsReport = report({ lines: z.array(LogLineSchema).describe('Oldest first.') });

/** `task.list`. */
export const TaskListReport = report({
  counts: Counts.describe('Number of stored tasks by status.'),
  items: z.array(TaskSchema).describe('Newest first, at most 500.'),
});

/** `task.status`. */
export const TaskStatusReport = report({
  task: TaskSchema,
  course: z
    .array(
      z.object({
        phase: z.string(),
        unit: z.string(),
        total: z.number().min(0).nullable(),
        samples: z
          .array(
            z.object({
              at: z.number().min(0).describe('Unix seconds, with milliseconds as the fraction.'),
              done: z.number().min(0),
            }),
          )
          .describe('Oldest first.'),
      }),
    )
    .describe(
      'How the progress of the last run went, phase by phase, the oldest first: at most 16 phases of about 120 samples. The daemon keeps it in memory for the last 50 runs; empty for others.',
    ),
});

/** `task.logs`. */
export const TaskLogsReport = report({
  task_id: z.string(),
  lines: z
    .array(
      z.object({
        seq: Count,
        ts: z.number().min(0).describe('Unix seconds, with milliseconds as the fraction.'),
        level: z.enum(['debug', 'info', 'warn', 'error']),
        msg: z.string(),
        fields: JsonObject.optional(),
      }),
    )
    .describe('Oldest first.'),
  truncated: z.boolean().describe('Whether the task wrote more lines than the daemon stores.'),
});
