import { z } from 'zod';
import type { ActionDefinition } from './action-definition.ts';
import { PUBLISH_ARGUMENTS } from './publish-arguments.ts';
import {
  channel,
  flag,
  keyValuePairs,
  keyValueText,
  releaseId,
  scheduleGroup,
  wholeNumber,
} from './field-schemas.ts';

/** Maximum number of runs that one `schedule-run` starts. */
const MAX_RUNS_AT_ONCE = 100;
/** Letters, digits and a few marks: it is used in queries and logs. */
const SCHEDULE_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,159}$/;

/** The fields that say what a schedule runs, and when. */
const SCHEDULE_FIELDS = {
  group: scheduleGroup,
  args: z.array(keyValueText),
  next_run_unix_seconds: wholeNumber({ min: 0 }),
  delay_seconds: wholeNumber({ min: 0 }),
  every_seconds: wholeNumber({ min: 1 }),
  max_runs: wholeNumber({ min: 1 }),
} as const;

/** The `args` of actions on releases: without them, all current ones. */
const RELEASE_ARGUMENTS = keyValuePairs(z.strictObject({ channel, release_id: releaseId }).partial());

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

/** Actions on the daemon itself, on releases, schedules and tasks. */
export const RELEASE_ACTIONS = {
  reload: {
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
  refresh: {
    summary: 'Rescans the store, evaluates the health of the releases and issues a new attestation.',
    mode: 'queued',
    scope: 'operate',
    destructive: false,
    required: [],
    used: ['force'],
    choices: [],
    errors: ['store_locked'],
  },
  restart: {
    summary:
      'Drains and stops the daemon so that its supervisor restarts it; with `force` it does not drain.',
    mode: 'inline',
    scope: 'operate',
    destructive: true,
    required: [],
    used: ['force'],
    choices: [],
    errors: ['restart_unsupported'],
  },
  sync: {
    summary: 'Fetches the upstream release, verifies it and makes it the current official one.',
    mode: 'queued',
    scope: 'operate',
    destructive: false,
    required: [],
    used: ['force'],
    choices: [],
    errors: ['upstream_not_configured'],
  },
  verify: {
    summary:
      'Hashes every object of the selected releases; damaged releases are withdrawn, and the task fails.',
    mode: 'queued',
    scope: 'operate',
    destructive: false,
    required: [],
    used: ['force', 'args'],
    choices: [],
    fields: { args: RELEASE_ARGUMENTS },
    errors: ['unknown_release'],
  },
  repair: {
    summary: 'Replaces damaged objects by fetching or rebuilding them; moves the damaged ones to quarantine.',
    mode: 'queued',
    scope: 'operate',
    destructive: false,
    required: [],
    used: ['force', 'args'],
    choices: [],
    fields: { args: RELEASE_ARGUMENTS },
    errors: ['unknown_release'],
  },
  'catalog-refresh': {
    summary: 'Fetches only the upstream catalog and reports what a sync would change.',
    mode: 'queued',
    scope: 'operate',
    destructive: false,
    required: [],
    used: ['force'],
    choices: [],
    errors: ['upstream_not_configured'],
  },
  'schedule-add': {
    summary: 'Adds a schedule that runs a job once or repeatedly.',
    mode: 'inline',
    scope: 'named',
    destructive: false,
    required: ['group', 'action'],
    used: ['id', 'args', 'max_runs', 'enabled', 'next_run_unix_seconds', 'delay_seconds', 'every_seconds'],
    choices: [
      { fields: ['next_run_unix_seconds', 'delay_seconds', 'every_seconds'], rule: 'some' },
      { fields: ['next_run_unix_seconds', 'delay_seconds'], rule: 'exclusive' },
    ],
    fields: {
      ...SCHEDULE_FIELDS,
      id: z.string().regex(SCHEDULE_ID, {
        error: 'must be 1 to 160 letters, digits, ".", "_", ":" or "-", and begin with a letter or digit',
      }),
    },
    errors: ['schedule_exists', 'action_not_schedulable'],
  },
  'schedule-update': {
    summary: 'Changes a schedule.',
    mode: 'inline',
    scope: 'named',
    destructive: false,
    required: ['id'],
    used: SCHEDULE_CHANGES,
    choices: [
      { fields: SCHEDULE_CHANGES, rule: 'some' },
      { fields: ['next_run_unix_seconds', 'delay_seconds'], rule: 'exclusive' },
      { fields: ['args', 'clear_args'], rule: 'exclusive' },
      { fields: ['every_seconds', 'clear_every'], rule: 'exclusive' },
    ],
    fields: SCHEDULE_FIELDS,
    errors: ['unknown_schedule', 'action_not_schedulable'],
  },
  'schedule-remove': {
    summary: 'Removes a schedule; its running task continues.',
    mode: 'inline',
    scope: 'named',
    destructive: true,
    required: ['id'],
    used: [],
    choices: [],
    errors: ['unknown_schedule'],
  },
  'schedule-run': {
    summary: 'Runs a schedule, or the schedules of a group, now; their next run stays as it is.',
    mode: 'inline',
    scope: 'named',
    destructive: false,
    required: [],
    used: ['id', 'group', 'count', 'force'],
    choices: [{ fields: ['id', 'group'], rule: 'one' }],
    fields: { group: scheduleGroup, count: wholeNumber({ min: 1, max: MAX_RUNS_AT_ONCE }) },
    errors: ['unknown_schedule', 'schedule_disabled'],
  },
  'task-cancel': {
    summary: 'Cancels a queued task and asks a running one to stop.',
    mode: 'inline',
    scope: 'named',
    destructive: true,
    required: ['task_id'],
    used: ['reason'],
    choices: [],
    errors: ['unknown_task', 'task_already_terminal'],
  },
  'localized-publish': {
    summary: 'Builds, verifies and publishes a localized release on the current official one.',
    mode: 'queued',
    scope: 'publish',
    destructive: false,
    required: [],
    used: [
      'from_worker',
      'translation_file',
      'patch_manifest',
      'localized_release_id',
      'reviewer',
      'reason',
      'force',
      'args',
    ],
    choices: [{ fields: ['from_worker', 'translation_file', 'patch_manifest'], rule: 'one' }],
    fields: {
      localized_release_id: releaseId,
      args: keyValuePairs(PUBLISH_ARGUMENTS),
    },
    errors: [
      'no_official_release',
      'base_mismatch',
      'release_exists',
      'qa_blocked',
      'coverage_incomplete',
      'file_not_found',
      'invalid_path',
    ],
  },
  'localized-rollback': {
    summary: 'Makes an earlier localized release current again; by default the previous one.',
    mode: 'queued',
    scope: 'publish',
    destructive: true,
    required: [],
    used: ['localized_release_id', 'reviewer', 'reason'],
    choices: [],
    fields: { localized_release_id: releaseId },
    errors: ['unknown_release', 'base_mismatch', 'nothing_to_roll_back'],
  },
  'release-cleanup': {
    summary: 'Deletes releases beyond the number to keep, or one by id, and unreferenced objects.',
    mode: 'queued',
    scope: 'operate',
    destructive: true,
    required: [],
    used: ['count', 'id', 'localized_release_id', 'force', 'args'],
    choices: [{ fields: ['count', 'id', 'localized_release_id'], rule: 'exclusive' }],
    fields: {
      count: wholeNumber({ min: 1 }),
      id: releaseId,
      localized_release_id: releaseId,
      args: keyValuePairs(z.strictObject({ dry_run: flag }).partial()),
    },
    errors: ['unknown_release', 'release_protected'],
  },
} as const satisfies Record<string, ActionDefinition>;
