import { z } from 'zod';
import { flag, releaseId } from '../../../contract/actions/field-schemas.ts';
import type { ArgumentsOf, JobDefinition } from '../../tasks/job.ts';

/** Arguments of which a publish has exactly one: where its texts or files come from. */
const INPUTS = ['patch_manifest'] as const;

export const LOCALIZED_PUBLISH_JOB = {
  kind: 'localized-publish',
  summary: 'Builds a localized release on the current official one, verifies it and makes it current.',
  lane: 'release',
  scope: 'publish',
  groups: ['i18n'],
  arguments: z
    .strictObject({
      patch_manifest: z.string().min(1).max(4096).optional(),
      localized_release_id: releaseId.optional(),
      force: flag.default(false),
      dry_run: flag.default(false),
    })
    .superRefine((fields, context) => {
      if (INPUTS.filter((field) => fields[field] !== undefined).length === 1) return;
      context.addIssue({ code: 'custom', message: `needs exactly one of ${INPUTS.join(', ')}` });
    }),
  resumable: true,
  maxAttempts: 3,
  storeLock: 'shared',
} as const satisfies JobDefinition;

/** The parsed arguments of {@link LOCALIZED_PUBLISH_JOB}. */
export type PublishArguments = ArgumentsOf<typeof LOCALIZED_PUBLISH_JOB>;
