import { z } from 'zod';
import { globSchema } from '../../platform/config/glob-schema.ts';
import { PUBLISHABLE_STATES } from '../../domain/translation/publish-outcome.ts';
import { RULE_ENCODINGS } from '../parse/rules/parse-config.ts';

const globs = z.array(globSchema).max(64);
const fieldName = z.string().min(1).max(256);

export const catalogListSchema = z.strictObject({
  files: globs
    .min(1)
    .describe('Globs of destinations; a file in an archive follows it behind `!/` (`a.zip!/list.json`).'),
  format: z.enum(['json', 'csv', 'tsv']).describe('The format of the list; a table needs a row of names.'),
  encoding: z.enum(RULE_ENCODINGS).default('utf-8').describe('The encoding of the list.'),
  folder: z
    .string()
    .max(1024)
    .regex(/^(?:[^/].*\/)?$/, 'must be empty, or a folder with "/" at its end and not at its start')
    .optional()
    .describe('The folder of the listed files, empty for the root. Default: the folder of the list.'),
  path: fieldName.describe('The member or column with the path of a file.'),
  size: z.array(fieldName).max(8).default([]).describe('The members or columns with its size in bytes.'),
  checksums: z
    .array(fieldName)
    .max(8)
    .default([])
    .describe('The members or columns with its checksums. Their algorithm is found by trying.'),
});

export const catalogsConfigurationSchema = z.strictObject({
  lists: z
    .array(catalogListSchema)
    .max(64)
    .default([])
    .describe('Lists of files with sizes and checksums that no built-in plug-in knows.'),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(86_400)
    .default(3600)
    .describe(
      'Longest time in which the catalogs of one release are found and rewritten; the process is killed after it and nothing is published.',
    ),
  ignore: globs
    .default([])
    .describe(
      'Globs of files that are not catalogs, although they state the name of a patched file with its size or checksum. An archive stands for all that is in it. A catalog of a patched bundle is refused all the same.',
    ),
});

export type CatalogsConfiguration = z.output<typeof catalogsConfigurationSchema>;

const textBoxSchema = z.strictObject({
  files: globSchema.describe('Glob of the files, such as `Scenario/**`.'),
  columns: z
    .int()
    .min(1)
    .max(10_000)
    .describe('Columns of a line; East Asian wide characters take two, all others `fontWidth`.'),
  lines: z.int().min(1).max(1000).describe('Lines of the box.'),
  fontWidth: z
    .number()
    .min(0.1)
    .max(2)
    .default(1)
    .describe('Columns of a narrow character in the font of the game, on average.'),
});

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
  boxes: z
    .array(textBoxSchema)
    .max(1000)
    .default([])
    .describe(
      'The boxes in which the game shows texts, the first that names a file counts. The editor draws each target in its box. Without one it draws the limits of `parse.rules`, which alone block a target.',
    ),
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

export type LocalizedConfiguration = z.output<typeof localizedConfigurationSchema>;
