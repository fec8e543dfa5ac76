import { z } from 'zod';
import { flag } from '../../contract/actions/field-schemas.ts';
import { canonicalLanguageTag, isLanguageTag } from '../../domain/text/language-tag.ts';
import {
  endingChoice,
  formatOfFile,
  type ExchangedKind,
  type FormatName,
} from '../../contract/formats/exchange-formats.ts';
import { TaskError } from '../tasks/task.ts';

/** The part that all jobs of exchanged files have in common. A second attempt would only repeat the refusal of a file. */
export const EXCHANGE_JOB = {
  lane: 'i18n',
  groups: ['i18n'],
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const;

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
      error: `must be one or more of ${states.join(', ')}, separated by commas`,
    })
    .default(defaults.join(','));
}

/** The file of a job, and the name of its format where the arguments have one. */
export interface ExchangedFile<Kind extends ExchangedKind> {
  readonly file: string;
  readonly format?: FormatName<Kind> | undefined;
}

/**
 * The format of a file: the one that is named, else that of the ending of the file's name.
 *
 * @throws TaskError `format_unknown`
 */
export function formatOf<Kind extends ExchangedKind>(
  { file, format }: ExchangedFile<Kind>,
  kind: Kind,
): FormatName<Kind> {
  const found = formatOfFile(kind, file, format);
  if (found !== null) return found;
  throw new TaskError(
    'format_unknown',
    `the name "${file}" does not end with ${endingChoice(kind)}: name the format with format=`,
  );
}
