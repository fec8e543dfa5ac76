import { z } from 'zod';
import type { ActionDefinition } from './action-definition.ts';
import { PUBLISH_ARGUMENTS } from './publish-arguments.ts';
import {
  channel,
  flag,
  forced,
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

const SCHEDULE_FIELDS = {
  group: scheduleGroup,
  args: z.array(keyValueText),
  next_run_unix_seconds: wholeNumber({ min: 0 }),
  delay_seconds: wholeNumber({ min: 0 }),
  every_seconds: wholeNumber({ min: 1 }),
  max_runs: wholeNumber({ min: 1 }),
} as const;

/** The `args` of actions on releases: without them, all current ones. */
const RELEASE_ARGUMENTS = keyValuePairs(
  z
    .strictObject({
      channel: channel.meta({ title: 'Channel', description: 'Only the current release of this channel.' }),
      release_id: releaseId.meta({ title: 'Release', description: 'Only this release.' }),
    })
    .partial(),
);

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

/** Actions on the daemon itself, on releases, schedules and tasks. */
export const RELEASE_ACTIONS = {
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
  refresh: {
    title: 'Check the releases and renew the attestation',
    summary:
      'Rescans the store, evaluates the health of the releases and issues a new attestation; with `args` `current=RELEASE_ID` it only issues one that makes an announced release current soon.',
    mode: 'queued',
    scope: 'operate',
    destructive: false,
    required: [],
    used: ['force', 'args'],
    choices: [],
    fields: {
      args: keyValuePairs(
        z
          .strictObject({
            current: releaseId.meta({
              title: 'Switch early to',
              description: 'The announced release that becomes current soon, before its stated time.',
            }),
          })
          .partial(),
      ),
    },
    errors: ['store_locked', 'unknown_release', 'not_announced', 'channel_mirrored'],
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
  sync: {
    title: 'Fetch the upstream release',
    summary: 'Fetches the upstream release, verifies it and makes it the current official one.',
    mode: 'queued',
    scope: 'operate',
    destructive: false,
    required: [],
    used: ['force'],
    choices: [],
    fields: { force: forced('Fetches files again although upstream has not changed.') },
    errors: ['upstream_not_configured'],
  },
  verify: {
    title: 'Verify releases',
    summary:
      'Hashes every object of the selected releases; damaged releases are withdrawn, and the task fails.',
    mode: 'queued',
    scope: 'operate',
    destructive: false,
    required: [],
    used: ['force', 'args'],
    choices: [],
    fields: {
      args: RELEASE_ARGUMENTS,
      force: forced('All releases that are kept, and not only the current ones.'),
    },
    errors: ['unknown_release'],
  },
  repair: {
    title: 'Repair releases',
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
    title: 'Look for a new upstream release',
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
  'localized-publish': {
    title: 'Publish a localized release',
    summary: 'Builds, verifies and publishes a localized release on the current official one.',
    mode: 'queued',
    scope: 'publish',
    destructive: false,
    hasDryRun: true,
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
    choices: [
      {
        fields: ['from_worker', 'translation_file', 'patch_manifest'],
        rule: 'one',
        title: 'Source of the translations',
      },
    ],
    fields: {
      localized_release_id: releaseId.meta({
        title: 'Name of the new release',
        description: 'The id of the new localized release. Without one, the daemon makes one.',
      }),
      force: forced('Publishes although the coverage is incomplete.'),
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
    title: 'Roll back the localized release',
    summary: 'Makes an earlier localized release current again; by default the previous one.',
    mode: 'queued',
    scope: 'publish',
    destructive: true,
    reversal: 'A publication makes the translations current again.',
    hasDryRun: true,
    required: [],
    used: ['localized_release_id', 'reviewer', 'reason', 'args'],
    choices: [],
    fields: {
      localized_release_id: releaseId.meta({
        title: 'Release to go back to',
        description: 'The localized release that becomes current. Without one, the previous one.',
      }),
      args: keyValuePairs(
        z
          .strictObject({
            dry_run: flag.meta({
              title: 'Dry run',
              description: 'Only says which texts readers would see change.',
            }),
            from: releaseId.meta({
              title: 'Release to take back',
              description: 'Fails with `release_changed` when another localized release is current.',
            }),
          })
          .partial(),
      ),
    },
    errors: ['unknown_release', 'base_mismatch', 'nothing_to_roll_back'],
  },
  'release-cleanup': {
    title: 'Delete old releases',
    summary: 'Deletes releases beyond the number to keep, or one by id, and unreferenced objects.',
    mode: 'queued',
    scope: 'operate',
    destructive: true,
    hasDryRun: true,
    required: [],
    used: ['count', 'id', 'localized_release_id', 'force', 'args'],
    choices: [
      {
        fields: ['count', 'id', 'localized_release_id'],
        rule: 'exclusive',
        title: 'Which releases',
        otherwise: 'Those beyond the configured number',
      },
    ],
    fields: {
      count: wholeNumber({ min: 1 }).meta({
        title: 'Releases to keep',
        description: 'How many releases of each channel to keep. Without it, as many as are configured.',
      }),
      id: releaseId.meta({ title: 'Official release', description: 'Deletes only this official release.' }),
      localized_release_id: releaseId.meta({
        title: 'Localized release',
        description: 'Deletes only this localized release.',
      }),
      force: forced(
        'Deletes releases that clients may still download, and unreferenced objects immediately.',
      ),
      args: keyValuePairs(
        z
          .strictObject({
            dry_run: flag.meta({ title: 'Dry run', description: 'Only says what would be deleted.' }),
          })
          .partial(),
      ),
    },
    errors: ['unknown_release', 'release_protected'],
  },
} as const satisfies Record<string, ActionDefinition>;
