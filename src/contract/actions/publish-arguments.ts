import { z } from 'zod';
import { PUBLISHABLE_STATES } from '../../domain/translation/publish-outcome.ts';
import { flag, word } from './field-schemas.ts';

/** The entries of `args` of `localized-publish`. */
export const PUBLISH_ARGUMENTS = z
  .strictObject({
    dry_run: flag.meta({
      title: 'Dry run',
      description: 'Only shows what would be published and what prevents it.',
    }),
    min_state: word(PUBLISHABLE_STATES).meta({
      title: 'Lowest state of a text',
      description: 'Instead of `localized.minState`.',
    }),
    resume: flag.meta({
      title: 'Resume after a rollback',
      description:
        'Resumes automatic publishing, which a rollback has stopped, when the release is published. Needed after a rollback that withdrew the channel.',
    }),
    include: z
      .string()
      .min(1)
      .max(1024)
      .meta({ title: 'Only these files', description: 'A glob of files, instead of `localized.include`.' }),
  })
  .partial();
