import { z } from 'zod';
import { canonicalLanguageTag, isLanguageTag } from '../../domain/text/language-tag.ts';
import { workerConfiguration, workerConfigurationProblem } from './worker/worker-config.ts';

/** `overwrite`, since a schema with `transform` has no default in the help and the reference. */
const languageTag = z
  .string()
  .max(64)
  .refine(isLanguageTag, { error: 'must be a language tag such as ja or zh-Hans', abort: true })
  .overwrite(canonicalLanguageTag);

const reviewSchema = z.strictObject({
  fourEyes: z
    .boolean()
    .default(false)
    .describe(
      'Whether a target must be accepted with another token than the one that sent it. Tokens without an id count as one.',
    ),
});

/** The schema of `translation` in the configuration of the daemon. */
export const translationConfigurationSchema = z
  .strictObject({
    automatic: z
      .boolean()
      .default(true)
      .describe('Whether the tasks of a release are built as soon as its text is indexed.'),
    sourceLanguage: languageTag.default('ja').describe('Language of the text of releases (BCP 47).'),
    targetLanguage: languageTag.default('zh-Hans').describe('Language that it is translated to (BCP 47).'),
    review: reviewSchema.prefault({}).describe('Reviews of translations.'),
    ...workerConfiguration,
  })
  .superRefine((value, context) => {
    const problem = workerConfigurationProblem(value);
    if (problem !== null)
      context.addIssue({ code: 'custom', path: [problem.path], message: problem.message });
  });

/** The parsed `translation` section. */
export type TranslationConfiguration = z.output<typeof translationConfigurationSchema>;
