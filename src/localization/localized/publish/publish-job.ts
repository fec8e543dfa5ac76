import { z } from 'zod';
import { PUBLISH_ARGUMENTS } from '../../../contract/actions/publish-arguments.ts';
import { flag, releaseId } from '../../../contract/actions/field-schemas.ts';
import type { ArgumentsOf, JobDefinition } from '../../../engine/tasks/job.ts';

/** Arguments of which a publish has exactly one: where its texts or files come from. */
const INPUTS = ['from_worker', 'translation_file', 'patch_manifest'] as const;

/** Arguments that select texts; a patch manifest names files. */
export const TEXT_ARGUMENTS = ['min_state', 'include'] as const;

export const LOCALIZED_PUBLISH_JOB = {
  kind: 'localized-publish',
  summary: 'Builds a localized release on the current official one, verifies it and makes it current.',
  lane: 'release',
  scope: 'publish',
  personalSwitches: ['resume'],
  groups: ['i18n'],
  arguments: z
    .strictObject({
      from_worker: z.literal(true).optional(),
      translation_file: z.string().min(1).max(4096).optional(),
      patch_manifest: z.string().min(1).max(4096).optional(),
      localized_release_id: releaseId.optional(),
      force: flag.default(false),
      ...PUBLISH_ARGUMENTS.shape,
      dry_run: flag.default(false),
    })
    .superRefine((fields, context) => {
      if (INPUTS.filter((field) => fields[field] !== undefined).length !== 1) {
        context.addIssue({ code: 'custom', message: `needs exactly one of ${INPUTS.join(', ')}` });
      }
      for (const field of TEXT_ARGUMENTS) {
        if (fields.patch_manifest === undefined || fields[field] === undefined) continue;
        context.addIssue({ code: 'custom', path: [field], message: 'is not used with patch_manifest' });
      }
    }),
  resumable: true,
  maxAttempts: 3,
  storeLock: 'shared',
} as const satisfies JobDefinition;

export type PublishArguments = ArgumentsOf<typeof LOCALIZED_PUBLISH_JOB>;
