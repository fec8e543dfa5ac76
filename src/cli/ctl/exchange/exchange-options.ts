import { formatOfFile } from '../../../exchange/file-codec.ts';
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
  const format = formatOfFile(path, textOption(args, 'format'), names);
  if (format !== null) return format;
  throw new CtlFailure(
    CTL_EXITS.usage,
    `${path}: the format is unknown; end the name with ${names.map((name) => `.${name}`).join(' or ')}, or give --format`,
  );
}

/**
 * The person who vouches for a file, of `--trusted` and `--reviewer`.
 *
 * @returns `null` for a file that nobody vouches for
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
      '--trusted needs --reviewer NAME, the person who vouches for the file',
    );
  }
  return { reviewer, ...(reason === undefined ? {} : { reason }) };
}
