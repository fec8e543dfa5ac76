import { endingOf } from '../../../exchange/file-ending.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { textOption, type CtlArguments } from '../ctl-options.ts';

/**
 * The format of a file: `--format`, or that of its ending.
 *
 * @throws CtlFailure
 */
export function fileFormat<F extends string>(
  path: string,
  args: CtlArguments,
  formats: Readonly<Record<F, unknown>>,
): F {
  const names = Object.keys(formats) as F[];
  const given = textOption(args, 'format') ?? endingOf(path);
  const format = names.find((name) => name === given);
  if (format !== undefined) return format;
  throw new CtlFailure(
    CTL_EXITS.usage,
    `${path}: the format is unknown; end the name with ${names.map((name) => `.${name}`).join(' or ')}, or give --format`,
  );
}

/**
 * The person who stands for a file, of `--trusted` and `--reviewer`.
 *
 * @returns `null` for a file that nobody stands for
 * @throws CtlFailure
 */
export function trustedBy(
  args: CtlArguments,
): { readonly reviewer: string; readonly reason?: string } | null {
  const reviewer = textOption(args, 'reviewer');
  const reason = textOption(args, 'reason');
  if (args.values.trusted !== true) {
    if (reviewer === undefined && reason === undefined) return null;
    throw new CtlFailure(CTL_EXITS.usage, '--reviewer and --reason need --trusted');
  }
  if (reviewer === undefined || reviewer.trim() === '') {
    throw new CtlFailure(
      CTL_EXITS.usage,
      '--trusted needs --reviewer NAME, the person who stands for the file',
    );
  }
  return { reviewer, ...(reason === undefined ? {} : { reason }) };
}

/** The arguments of a job from options, as `key=value`. Options that were not given are left out. */
export function jobArguments(
  values: Readonly<Record<string, string | boolean | undefined>>,
): readonly string[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([key, value]) => `${key}=${String(value)}`);
}

/** The options of languages and their help. */
export const LANGUAGE_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--source-language TAG', 'language of the source texts; default the configured one'],
  ['--target-language TAG', 'language of the translations; default the configured one'],
];

/** The options of a trusted import and their help. */
export const TRUST_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--trusted', 'takes the states of the file instead of candidates or drafts; needs the scope review'],
  ['--reviewer NAME', 'person who stands for a trusted file'],
  ['--reason TEXT', 'reason to record in the histories'],
];
