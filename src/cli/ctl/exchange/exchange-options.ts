import {
  endingChoice,
  formatNames,
  formatOfFile,
  type ExchangedKind,
  type FormatName,
} from '../../../contract/formats/exchange-formats.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { textOption, type CtlArguments } from '../ctl-options.ts';

/**
 * The format of a file: `--format`, or that of its ending.
 *
 * @throws CtlFailure
 */
export function fileFormat<Kind extends ExchangedKind>(
  path: string,
  args: CtlArguments,
  kind: Kind,
): FormatName<Kind> {
  const given = textOption(args, 'format');
  const format = formatOfFile(kind, path, given);
  if (format !== null) return format;
  if (given !== undefined) {
    const names = formatNames(kind).join(', ');
    throw new CtlFailure(CTL_EXITS.usage, `--format ${given}: must be one of ${names}`);
  }
  throw new CtlFailure(
    CTL_EXITS.usage,
    `${path}: the format is unknown; end the name with ${endingChoice(kind)}, or give --format`,
  );
}

/** The option that names the format of a file, for the help. */
export function formatText(kind: ExchangedKind): readonly [string, string] {
  return [`--format ${formatNames(kind).join('|')}`, 'format of the file; default that of its ending'];
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
