import { z } from 'zod';

/** A language tag, for example `zh-Hans`. Source: RFC 5646, section 2.1. */
const languageTag = z
  .string()
  .max(64)
  .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/, 'must be a language tag, such as "ja" or "zh-Hans"');

/** The schema of `translation` in the configuration of the daemon. */
export const translationConfigurationSchema = z.strictObject({
  automatic: z
    .boolean()
    .default(true)
    .describe('Whether the tasks of a release are built as soon as its text is indexed.'),
  targetLanguage: languageTag
    .default('zh-Hans')
    .describe('The language of the targets. Targets in another language stay in the database.'),
});

/** The parsed `translation` section. */
export type TranslationConfiguration = z.output<typeof translationConfigurationSchema>;
