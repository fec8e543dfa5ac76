import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { parseOptions } from '../../platform/terminal/parse-options.ts';
import { DEFAULT_DATA } from './find-store.ts';

/** The options of `slipway export`. */
export interface ExportOptions {
  readonly releaseId: ReleaseId;
  /** The file to write; `-` for standard output. */
  readonly output: string;
  readonly data: string;
  readonly since: ReleaseId | null;
}

/** The help of `slipway export`. */
export const EXPORT_USAGE = `Usage: slipway export RELEASE -o FILE [--data DIR] [--since RELEASE]

Writes a release into one file: an OCI image layout as tar with the attestation, the manifest and every object. Copy it to
a machine without a network and read it there with slipway import, or push it to a registry with oras, skopeo or crane.
The same release and attestation give the same file. Changes nothing in the store, and may run beside its daemon.

  -o, --output FILE  the file to write; "-" writes to standard output
  --data DIR         the snapshot volume, or the data folder of make run (default: ${DEFAULT_DATA})
  --since RELEASE    leaves out the objects of this release, which the other side has

Ends with 0 when the file is complete, 1 when the release cannot be exported, and 2 for wrong arguments.
`;

/**
 * Reads the command line after `export`.
 *
 * @returns the options, `'help'`, or one sentence that says what is wrong
 */
export function parseExportOptions(argv: readonly string[]): Result<ExportOptions | 'help', string> {
  const parsed = parseOptions({
    args: [...argv],
    allowPositionals: true,
    options: {
      output: { type: 'string', short: 'o' },
      data: { type: 'string', default: DEFAULT_DATA },
      since: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { values, positionals } = parsed.value;
  if (values.help) return success('help');
  const [name, second] = positionals;
  if (name === undefined || second !== undefined) return failure('name exactly one release');
  const releaseId = parseReleaseId(name);
  if (!releaseId.ok) return failure(`"${name}": ${releaseId.error}`);
  const since = values.since === undefined ? null : parseReleaseId(values.since);
  if (since !== null && !since.ok) return failure(`--since: ${since.error}`);
  if (values.output === undefined || values.output === '')
    return failure('--output is missing: name the file to write');
  return success({
    releaseId: releaseId.value,
    output: values.output,
    data: values.data,
    since: since?.value ?? null,
  });
}
