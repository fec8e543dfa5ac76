import { z } from 'zod';
import { flag } from '../../contract/actions/field-schemas.ts';
import { canonicalLanguageTag, isLanguageTag } from '../../domain/text/language-tag.ts';
import { TaskError } from '../tasks/task.ts';

const language = z
  .string()
  .max(64)
  .refine(isLanguageTag, { error: 'must be a language tag such as ja or zh-Hans' })
  .transform(canonicalLanguageTag)
  .optional();

/** The arguments that all jobs of exchanged files take. Whether the file stays below `exchange.root` is checked when the job runs. */
export const FILE_ARGUMENTS = {
  file: z.string().min(1).max(4096),
  source_language: language,
  target_language: language,
} as const;

/** The arguments of the jobs that import files. */
export const IMPORT_ARGUMENTS = {
  ...FILE_ARGUMENTS,
  trusted: flag.default(false),
  dry_run: flag.default(false),
  token_id: z
    .string()
    .max(64)
    .nullable()
    .default(null)
    .describe('The token that asked for the import. The daemon sets it; a value of the caller is replaced.'),
} as const;

/** A choice of states, separated by commas. */
export function statesArgument(
  states: readonly string[],
  defaults: readonly string[],
): z.ZodDefault<z.ZodString> {
  return z
    .string()
    .refine((text) => text.split(',').every((state) => states.includes(state)), {
      error: `must be some of ${states.join(', ')}, separated by commas`,
    })
    .default(defaults.join(','));
}

/**
 * The format of a file: the one that is named, else that of the ending of the file's name.
 *
 * @throws TaskError `format_unknown`
 */
export function formatOf<F extends string>(file: string, format: F | undefined, formats: readonly F[]): F {
  const ending = file.slice(file.lastIndexOf('.') + 1).toLowerCase();
  const found = format ?? formats.find((each) => each === ending);
  if (found !== undefined) return found;
  throw new TaskError(
    'format_unknown',
    `the name "${file}" does not end with ${formats.map((each) => `.${each}`).join(' or ')}: name the format with format=`,
  );
}
