import { z } from 'zod';

const MISSING_RULES = ['always', 'after_proofread', 'never'] as const;

const missingRule = z.enum(MISSING_RULES);

/** The schema of `glossary` in the configuration of the daemon. */
export const glossaryConfigurationSchema = z.strictObject({
  root: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      'Folder of the files that `glossary_path` selects; they are only read. Default: glossary in data.dir.',
    ),
  termMissing: z
    .strictObject({
      default: missingRule
        .default('after_proofread')
        .describe(
          'When a missing term blocks: always, from the moment its container was proofread once, or never. It is a warning otherwise.',
        ),
      categories: z
        .record(z.string().min(1).max(256), missingRule)
        .default({})
        .describe('The same for terms of a category.'),
    })
    .prefault({})
    .describe('Approved terms that a translation does not have.'),
});

export type GlossaryConfiguration = z.output<typeof glossaryConfigurationSchema>;

export type TermMissingRules = GlossaryConfiguration['termMissing'];
