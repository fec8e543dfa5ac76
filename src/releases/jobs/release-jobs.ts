import { z } from 'zod';
import { channel, flag, releaseId, wholeNumber } from '../../contract/actions/field-schemas.ts';
import type { ArgumentsOf, JobDefinition } from '../../engine/tasks/job.ts';

const forced = flag.default(false);

const FORCED = z.strictObject({ force: forced });
const SELECTED_RELEASES = z.strictObject({
  force: forced,
  channel: channel.optional(),
  release_id: releaseId.optional(),
});

export type SelectedReleases = z.output<typeof SELECTED_RELEASES>;

const UPSTREAM_ATTEMPTS = 5;

export const SYNC_JOB = {
  kind: 'sync',
  summary: 'Fetches the upstream release, verifies it and makes it the current official one.',
  lane: 'release',
  scope: 'operate',
  groups: ['res'],
  arguments: FORCED,
  resumable: true,
  maxAttempts: UPSTREAM_ATTEMPTS,
  storeLock: 'shared',
} as const satisfies JobDefinition;

export const CATALOG_REFRESH_JOB = {
  kind: 'catalog-refresh',
  summary: 'Fetches only the upstream catalog and reports what a sync would change.',
  lane: 'release',
  scope: 'operate',
  groups: ['res'],
  arguments: FORCED,
  resumable: true,
  maxAttempts: UPSTREAM_ATTEMPTS,
  storeLock: 'none',
} as const satisfies JobDefinition;

export const VERIFY_JOB = {
  kind: 'verify',
  summary:
    'Hashes every object of the selected releases again: the current ones, or with `force` all kept ones.',
  lane: 'verify',
  scope: 'operate',
  groups: ['res'],
  arguments: SELECTED_RELEASES,
  resumable: true,
  maxAttempts: 2,
  storeLock: 'shared',
} as const satisfies JobDefinition;

export const REPAIR_JOB = {
  kind: 'repair',
  summary: 'Replaces damaged objects of the selected releases by fetching or building them again.',
  lane: 'release',
  scope: 'operate',
  groups: ['res'],
  arguments: SELECTED_RELEASES,
  resumable: true,
  maxAttempts: UPSTREAM_ATTEMPTS,
  storeLock: 'exclusive',
} as const satisfies JobDefinition;

/** Queued by the daemon itself. It has its own lane, so that it does not wait for a download or a verification. */
export const DAMAGE_REPAIR_JOB = {
  kind: 'damage-repair',
  summary: 'Replaces the objects and manifests that are known to be damaged, and nothing else.',
  lane: 'repair',
  scope: 'operate',
  groups: [],
  arguments: z.strictObject({}),
  resumable: true,
  // The daemon queues the next task when a failed repair is due again.
  maxAttempts: 1,
  storeLock: 'shared',
} as const satisfies JobDefinition;

export const REFRESH_JOB = {
  kind: 'refresh',
  summary: 'Rescans the store, evaluates the health of the releases and issues a new attestation.',
  lane: 'verify',
  scope: 'operate',
  groups: ['res'],
  arguments: FORCED,
  resumable: true,
  maxAttempts: 1,
  storeLock: 'shared',
} as const satisfies JobDefinition;

/** Queued by `refresh` with `args` `current=RELEASE_ID`. It runs beside the long tasks of its lane: the time it states is near. */
export const EARLY_SWITCH_JOB = {
  kind: 'early-switch',
  summary: 'States a nearer time for the switch to an announced release, in a new attestation.',
  lane: 'verify',
  scope: 'operate',
  groups: [],
  arguments: z.strictObject({ release_id: releaseId }),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
  parallel: 1,
} as const satisfies JobDefinition;

const CLEANUP_CHOICE = ['count', 'id', 'localized_release_id'] as const;

export const CLEANUP_JOB = {
  kind: 'release-cleanup',
  summary: 'Deletes releases beyond those to keep, or one by id, and the objects that nothing refers to.',
  lane: 'release',
  scope: 'operate',
  groups: ['res'],
  arguments: z
    .strictObject({
      count: wholeNumber({ min: 1 }).optional().describe('Releases to keep of each channel.'),
      id: releaseId.optional(),
      localized_release_id: releaseId.optional(),
      force: forced,
      dry_run: flag.default(false),
    })
    .superRefine((fields, context) => {
      const given = CLEANUP_CHOICE.filter((field) => fields[field] !== undefined);
      if (given.length < 2) return;
      for (const field of given) {
        const message = `excludes the others of ${CLEANUP_CHOICE.join(', ')}; send one of them`;
        context.addIssue({ code: 'custom', path: [field], message });
      }
    }),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'exclusive',
} as const satisfies JobDefinition;

export type CleanupArguments = ArgumentsOf<typeof CLEANUP_JOB>;

export const RELEASE_JOBS = [
  SYNC_JOB,
  CATALOG_REFRESH_JOB,
  VERIFY_JOB,
  REPAIR_JOB,
  DAMAGE_REPAIR_JOB,
  REFRESH_JOB,
  EARLY_SWITCH_JOB,
  CLEANUP_JOB,
] as const;
