import { z } from 'zod';
import { SERVICE_STATE_NAMES } from '../../../domain/service-state/service-state.ts';
import { HISTORY_MINUTES, TASK_STATUSES } from '../vocabulary.ts';
import { answer } from './answer.ts';
import { Count, EXAMPLE, UnixSeconds } from './common.ts';

const CountsByMinute = z.array(Count.nullable()).max(HISTORY_MINUTES);
const StatesByMinute = z.array(z.enum(SERVICE_STATE_NAMES).nullable()).max(HISTORY_MINUTES);

/** The history of one server. Every list has one item for each minute, oldest first; null without a record. */
const ServerHistorySchema = z
  .object({
    server: z
      .string()
      .describe('Host name of the server that answered; each server has a history of its own.'),
    from: UnixSeconds.describe(
      'Begin of the first minute, Unix seconds. Less than 24 hours ago when the server has not run that long.',
    ),
    requests: CountsByMinute.describe('Requests that ended, without those of probes.'),
    server_errors: CountsByMinute.describe('The part of them that was answered with 5xx.'),
    sent_bytes: CountsByMinute.describe('Body bytes of resources that the network took.'),
    states: z
      .object({ official: StatesByMinute, localized: StatesByMinute })
      .describe('The worst state of each channel in each minute.'),
  })
  .describe('The last minutes of this server, in memory; it is empty after a restart.');

/** `/admin/`. */
export const AdminIndexAnswer = answer(
  z.object({
    service: z.object({ name: z.string(), version: z.string() }),
    control: z.object({
      exposed: z.boolean().describe('Whether this server forwards control actions.'),
      path: z.string().describe('Where actions are posted to.'),
    }),
    history: ServerHistorySchema,
    links: z.array(z.object({ id: z.string(), path: z.string(), summary: z.string() })),
    actions: z.array(
      z.object({
        action: z.string(),
        path: z.string(),
        summary: z.string(),
        mode: z.enum(['inline', 'queued', 'inline or queued']),
        destructive: z.boolean(),
        required: z.array(z.string()),
        used: z.array(z.string()),
      }),
    ),
  }),
  {
    service: { name: 'slipway', version: '0.1.0' },
    control: { exposed: true, path: '/admin/control/{action}' },
    history: {
      server: 'slipway-0',
      from: EXAMPLE.at,
      requests: [120, 96],
      server_errors: [0, 0],
      sent_bytes: [73_400_320, 41_943_040],
      states: { official: ['healthy', 'healthy'], localized: ['unpublished', 'unpublished'] },
    },
    links: [{ id: 'listTasks', path: '/admin/tasks', summary: 'The tasks of the daemon.' }],
    actions: [
      {
        action: 'sync',
        path: '/admin/control/sync',
        summary: 'Fetches the upstream release, verifies it and makes it the current official one.',
        mode: 'queued',
        destructive: false,
        required: [],
        used: ['force'],
      },
    ],
  },
);

/** The body of `/admin/`. */
export type AdminIndex = z.infer<typeof AdminIndexAnswer.schema>;

/** 202 of a control action. */
export const AcceptedAnswer = answer(
  z.object({
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
  {
    accepted: true,
    action: 'sync',
    task_id: EXAMPLE.taskId,
    status: 'queued',
    deduplicated: false,
    ignored_fields: [],
  },
);

/** The 202 body. */
export type Accepted = z.infer<typeof AcceptedAnswer.schema>;
