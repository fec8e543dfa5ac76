import { z } from 'zod';
import type { ActionDefinition } from './action-definition.ts';
import { PUBLISH_ARGUMENTS } from './publish-arguments.ts';
import { channel, flag, forced, keyValuePairs, releaseId, wholeNumber } from './field-schemas.ts';

/** The `args` of actions on releases: without them, all current ones. */
const RELEASE_ARGUMENTS = keyValuePairs(
  z
    .strictObject({
      channel: channel.meta({ title: 'Channel', description: 'Only the current release of this channel.' }),
      release_id: releaseId.meta({ title: 'Release', description: 'Only this release.' }),
    })
    .partial(),
);

/** Actions on releases. */
export const RELEASE_ACTIONS = {
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
  sync: {
    title: 'Sync now',
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
              description: 'Only shows which texts readers would see change.',
            }),
            from: releaseId.meta({
              title: 'Release to roll back',
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
            dry_run: flag.meta({ title: 'Dry run', description: 'Only shows what would be deleted.' }),
          })
          .partial(),
      ),
    },
    errors: ['unknown_release', 'release_protected'],
  },
} as const satisfies Record<string, ActionDefinition>;
