import { z } from 'zod';
import { flag, releaseId } from '../../../contract/actions/field-schemas.ts';
import type { ArgumentsOf, JobDefinition } from '../../../engine/tasks/job.ts';

export const LOCALIZED_ROLLBACK_JOB = {
  kind: 'localized-rollback',
  summary:
    'Makes an earlier localized release of the current official one current again, or withdraws the channel without one.',
  lane: 'release',
  scope: 'publish',
  groups: [],
  arguments: z.strictObject({
    localized_release_id: releaseId.optional(),
    from: releaseId.optional(),
    dry_run: flag.default(false),
  }),
  resumable: true,
  maxAttempts: 3,
  storeLock: 'shared',
} as const satisfies JobDefinition;

export type RollbackArguments = ArgumentsOf<typeof LOCALIZED_ROLLBACK_JOB>;
