import { z } from 'zod';
import { PUBLISHABLE_STATES } from '../../domain/translation/publish-outcome.ts';
import { flag, word } from './field-schemas.ts';

/** The entries of `args` of `localized-publish`. */
export const PUBLISH_ARGUMENTS = z
  .strictObject({
    dry_run: flag.describe('Only says what would be published and what prevents it.'),
    min_state: word(PUBLISHABLE_STATES).describe('Instead of `localized.minState`.'),
    resume: flag.describe(
      'Resumes automatic publishing, which a rollback has stopped, when the release is published. Needed after a rollback that withdrew the channel.',
    ),
    include: z.string().min(1).max(1024).describe('A glob of files, instead of `localized.include`.'),
  })
  .partial();
