import { z } from 'zod';
import type { ActionDefinition } from './action-definition.ts';
import { forced, keyValueText, scheduleGroup, wholeNumber } from './field-schemas.ts';

/** Maximum number of runs that one `schedule-run` starts. */
const MAX_RUNS_AT_ONCE = 100;
/** Letters, digits and a few marks: it is used in queries and logs. */
const SCHEDULE_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,159}$/;

const SCHEDULE_FIELDS = {
  group: scheduleGroup,
  args: z.array(keyValueText),
  next_run_unix_seconds: wholeNumber({ min: 0 }),
  delay_seconds: wholeNumber({ min: 0 }),
  every_seconds: wholeNumber({ min: 1 }),
  max_runs: wholeNumber({ min: 1 }),
} as const;

const scheduleId = z.string().meta({ title: 'Schedule', description: 'The id of the schedule.' });

/** Fields of which a change of a schedule needs at least one. */
const SCHEDULE_CHANGES = [
  'action',
  'args',
  'clear_args',
  'next_run_unix_seconds',
  'delay_seconds',
  'every_seconds',
  'clear_every',
  'max_runs',
  'enabled',
  'group',
] as const;

/** Actions on the daemon itself, its schedules and its tasks. */
export const DAEMON_ACTIONS = {
  reload: {
    title: 'Read the configuration again',
    summary:
      'Reads configuration, keys and rules again and swaps them; the old ones stay if the new ones are invalid.',
    mode: 'inline',
    scope: 'operate',
    destructive: false,
    required: [],
    used: [],
    choices: [],
    errors: ['config_invalid'],
  },
  restart: {
    title: 'Restart the daemon',
    summary:
      'Drains and stops the daemon so that its supervisor restarts it; with `force` it does not drain.',
    mode: 'inline',
    scope: 'operate',
    destructive: true,
    reversal: 'The supervisor starts the daemon again.',
    required: [],
    used: ['force'],
    choices: [],
    fields: { force: forced('Does not wait for running tasks.') },
    errors: ['restart_unsupported'],
  },
  'schedule-add': {
    title: 'Add a schedule',
    summary: 'Adds a schedule that runs a job once or repeatedly.',
    mode: 'inline',
    scope: 'named',
    destructive: false,
    required: ['group', 'action'],
    used: ['id', 'args', 'max_runs', 'enabled', 'next_run_unix_seconds', 'delay_seconds', 'every_seconds'],
    choices: [
      { fields: ['next_run_unix_seconds', 'delay_seconds', 'every_seconds'], rule: 'some' },
      {
        fields: ['next_run_unix_seconds', 'delay_seconds'],
        rule: 'exclusive',
        title: 'First run',
        otherwise: 'After the first interval',
      },
    ],
    fields: {
      ...SCHEDULE_FIELDS,
      id: z
        .string()
        .regex(SCHEDULE_ID, {
          error: 'must be 1 to 160 letters, digits, ".", "_", ":" or "-", and begin with a letter or digit',
        })
        .meta({
          title: 'Name',
          description:
            'The id of the new schedule, such as `nightly-verify`. Without one, the daemon makes one.',
        }),
    },
    errors: ['schedule_exists', 'action_not_schedulable'],
  },
  'schedule-update': {
    title: 'Change schedule',
    summary: 'Changes a schedule.',
    mode: 'inline',
    scope: 'named',
    destructive: false,
    required: ['id'],
    used: SCHEDULE_CHANGES,
    choices: [
      { fields: SCHEDULE_CHANGES, rule: 'some' },
      {
        fields: ['next_run_unix_seconds', 'delay_seconds'],
        rule: 'exclusive',
        title: 'Next run',
        otherwise: 'As planned',
      },
      { fields: ['args', 'clear_args'], rule: 'exclusive' },
      { fields: ['every_seconds', 'clear_every'], rule: 'exclusive' },
    ],
    fields: { ...SCHEDULE_FIELDS, id: scheduleId },
    errors: ['unknown_schedule', 'action_not_schedulable'],
  },
  'schedule-remove': {
    title: 'Remove schedule',
    summary: 'Removes a schedule; its running task continues.',
    mode: 'inline',
    scope: 'named',
    destructive: true,
    reversal: 'A schedule with the same fields can be added again.',
    required: ['id'],
    used: [],
    choices: [],
    fields: { id: scheduleId },
    errors: ['unknown_schedule'],
  },
  'schedule-run': {
    title: 'Run schedule now',
    summary: 'Runs a schedule, or the schedules of a group, now; their next run stays as it is.',
    mode: 'inline',
    scope: 'named',
    destructive: false,
    required: [],
    used: ['id', 'group', 'count', 'force'],
    choices: [{ fields: ['id', 'group'], rule: 'one', title: 'Which schedules' }],
    fields: {
      id: scheduleId,
      group: scheduleGroup.meta({ title: 'Group', description: 'All schedules of this group.' }),
      count: wholeNumber({ min: 1, max: MAX_RUNS_AT_ONCE }).meta({
        title: 'Runs',
        description: 'How many runs to start. Without it, one.',
      }),
      force: forced('Also runs schedules that are switched off.'),
    },
    errors: ['unknown_schedule', 'schedule_disabled'],
  },
  'task-cancel': {
    title: 'Cancel task',
    summary: 'Cancels a queued task and asks a running one to stop.',
    mode: 'inline',
    scope: 'named',
    destructive: true,
    reversal: 'The same task can be started again.',
    required: ['task_id'],
    used: ['reason'],
    choices: [],
    fields: { task_id: z.string().meta({ title: 'Task', description: 'The task of the daemon.' }) },
    errors: ['unknown_task', 'task_already_terminal'],
  },
} as const satisfies Record<string, ActionDefinition>;
