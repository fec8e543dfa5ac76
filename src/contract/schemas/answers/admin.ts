import { z } from 'zod';
import { SERVICE_STATE_NAMES } from '../../../domain/service-state/service-state.ts';
import { CONTROL_SCOPES, HISTORY_MINUTES, TASK_STATUSES } from '../vocabulary.ts';
import { Count, UnixSeconds } from './common.ts';

const CountsByMinute = z.array(Count.nullable()).max(HISTORY_MINUTES);
const StatesByMinute = z.array(z.enum(SERVICE_STATE_NAMES).nullable()).max(HISTORY_MINUTES);

/** The history of one server. Every list has one item for each minute, oldest first; null without a record. */
const ServerHistorySchema = z
  .object({
    server: z
      .string()
      .describe('Host name of the server that answered; each server has a history of its own.'),
    from: UnixSeconds.describe(
      'Begin of the first minute, Unix seconds. Less than 24 hours ago when the process that answers has not run that long. A server with `workers` has several processes; one that was started again has a later first minute.',
    ),
    requests: CountsByMinute.describe(
      'Requests of clients that ended: those of probes, the console and `/admin` do not count.',
    ),
    server_errors: CountsByMinute.describe('The part of them that was answered with 5xx.'),
    sent_bytes: CountsByMinute.describe('Body bytes of resources that the network took.'),
    states: z
      .object({ official: StatesByMinute, localized: StatesByMinute })
      .describe('The worst state of each channel in each minute.'),
  })
  .describe(
    'The last minutes of this server, in the memory of the process that answers; it is empty after a restart.',
  );

const ScrubSchema = z
  .object({
    pass: z.int().min(1).describe('Number of the current pass.'),
    share: z.number().min(0).max(1).describe('Completed share of the current pass.'),
    damage_found: Count.describe(
      'Missing or damaged objects that it found since the server started, of releases that the attestation still names.',
    ),
    damage_in_pass: Count.optional().describe('Those that the current pass found so far.'),
    completed_at: UnixSeconds.nullable().describe(
      'When the last pass was completed; null before the first one is.',
    ),
  })
  .nullable()
  .describe('The continuous check of all served files. Null when it is switched off or not known yet.');

/** `/admin/`. */
export const AdminIndexAnswer = {
  schema: z.object({
    service: z.object({ name: z.string(), version: z.string() }),
    control: z.object({
      exposed: z.boolean().describe('Whether this server forwards control actions.'),
      path: z.string().describe('Where actions are posted to.'),
    }),
    token: z
      .object({
        id: z.string().describe('Its name in logs and histories.'),
        scopes: z.array(z.enum(CONTROL_SCOPES)).describe('The groups of control actions that it may run.'),
      })
      .describe('The token of this request.'),
    history: ServerHistorySchema,
    scrub: ScrubSchema,
    links: z.array(z.object({ id: z.string(), path: z.string(), summary: z.string() })),
    actions: z.array(
      z.object({
        action: z.string(),
        path: z.string(),
        summary: z.string(),
        mode: z.enum(['inline', 'queued', 'inline or queued']),
        destructive: z.boolean(),
        allowed: z
          .boolean()
          .describe(
            'Whether this server forwards the action and the token may run it. For actions on schedules and tasks, whose job decides: whether the token may run any.',
          ),
        required: z.array(z.string()),
        used: z.array(z.string()),
      }),
    ),
  }),
};

export type AdminIndex = z.infer<typeof AdminIndexAnswer.schema>;

/** 202 of a control action. */
export const AcceptedAnswer = {
  schema: z.object({
    accepted: z.literal(true),
    action: z.string(),
    task_id: z.string().describe('Poll it at `/admin/tasks/status`.'),
    status: z.enum(TASK_STATUSES),
    deduplicated: z
      .boolean()
      .describe(
        'True if an equal task was already queued or running and is returned instead. A running one may have read its input before this request.',
      ),
    ignored_fields: z.array(z.string()).describe('Valid body fields that the action does not use.'),
    result: z.looseObject({}).describe('The result of an action that has already finished.').optional(),
  }),
};

export type Accepted = z.infer<typeof AcceptedAnswer.schema>;
