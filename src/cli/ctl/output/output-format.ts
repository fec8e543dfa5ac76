import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';

/** The forms in which a command prints its answer. */
export const OUTPUT_FORMATS = ['table', 'wide', 'name', 'json', 'yaml'] as const;

/** One of {@link OUTPUT_FORMATS}. */
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/**
 * Reads the value of `--output`.
 *
 * @param text `undefined` for none: a table
 * @throws CtlFailure
 */
export function parseOutputFormat(text: string | undefined): OutputFormat {
  const format = OUTPUT_FORMATS.find((each) => each === (text ?? 'table'));
  if (format !== undefined) return format;
  const names = `${OUTPUT_FORMATS.slice(0, -1).join(', ')} or ${OUTPUT_FORMATS.at(-1)}`;
  throw new CtlFailure(CTL_EXITS.usage, `--output ${text ?? ''}: must be ${names}`);
}

/** Whether a format is for programs, which get everything that the service sent. */
export function isDataFormat(format: OutputFormat): format is 'json' | 'yaml' {
  return format === 'json' || format === 'yaml';
}
