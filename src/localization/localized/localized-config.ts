import { z } from 'zod';
import { globSchema } from '../../platform/config/glob-schema.ts';
import { PUBLISHABLE_STATES } from '../../domain/translation/publish-outcome.ts';
import { catalogsConfigurationSchema } from './catalogs/catalogs-config.ts';

export const localizedConfigurationSchema = z.strictObject({
  minState: z
    .enum(PUBLISHABLE_STATES)
    .default('proofread')
    .describe(
      'Lowest state of a translation that a localized release has: proofread, translated or draft. Other units keep the official text.',
    ),
  include: z
    .array(globSchema)
    .max(1000)
    .default([])
    .describe('Globs of the files whose text is localized. Empty: every file.'),
  exclude: z
    .array(globSchema)
    .max(1000)
    .default([])
    .describe('Globs of files whose text stays official, although `include` names them.'),
  minCoverage: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe(
      'Least part of the units that a localized release must localize, from 0 to 1; skipped tasks and files beyond the globs do not count. Below it nothing is published without `force`.',
    ),
  auto: z
    .boolean()
    .default(false)
    .describe(
      'Whether a localized release is published automatically after a new official release. It never lowers the coverage, and stops after a rollback until it is resumed.',
    ),
  catalogs: catalogsConfigurationSchema
    .prefault({})
    .describe('Catalogs of releases: files that state the sizes and checksums of others.'),
});

/** The parsed `localized` section. */
export type LocalizedConfiguration = z.output<typeof localizedConfigurationSchema>;
