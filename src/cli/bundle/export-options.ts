import { RELEASE_FILE } from '../../contract/formats/release-file-format.ts';
import { STATIC_MIRROR_FILE } from '../../contract/formats/static-mirror-format.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { parseOptions } from '../../platform/terminal/parse-options.ts';
import { DEFAULT_DATA } from './find-store.ts';

/** The options of `slipway export`. */
export interface ExportOptions {
  readonly releaseId: ReleaseId;
  /** One file, or a folder of plain files. */
  readonly format: 'bundle' | 'files';
  /** The file to write, `-` for standard output; or the folder. */
  readonly output: string;
  readonly data: string;
  readonly since: ReleaseId | null;
}

/** The help of `slipway export`. */
export const EXPORT_USAGE = `Usage: slipway export RELEASE -o FILE [--data DIR] [--since RELEASE]
       slipway export RELEASE --format files -o FOLDER [--data DIR]

Writes a release into one file: an OCI image layout as tar with the attestation, the manifest and every object. Copy it to
a machine without a network and read it there with slipway import, or push it to a registry with oras, skopeo or crane.
The same release and attestation give the same file. Changes nothing in the store, and may run beside its daemon.

With --format files: writes the release as plain files into a folder that any web server or bucket can serve, with its
attestation, its manifest and ${RELEASE_FILE}. The next release adds only files that it changes. Upload ${RELEASE_FILE} and
${STATIC_MIRROR_FILE} after the others; slipway verify --url checks the result.

  -o, --output FILE  the file or the folder to write; "-" writes a bundle to standard output
  --format FORMAT    "bundle" (default) or "files"
  --data DIR         the snapshot volume, or the data folder of make run (default: ${DEFAULT_DATA})
  --since RELEASE    leaves out of a bundle the objects of this release, which the other side has

Ends with 0 when everything is written, 1 when the release cannot be exported, and 2 for wrong arguments.
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
      format: { type: 'string', default: 'bundle' },
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
  const { format } = values;
  if (format !== 'bundle' && format !== 'files')
    return failure(`--format: "${format}" is neither bundle nor files`);
  const since = values.since === undefined ? null : parseReleaseId(values.since);
  if (since !== null && !since.ok) return failure(`--since: ${since.error}`);
  if (values.output === undefined || values.output === '')
    return failure('--output is missing: name the file to write');
  if (format === 'files' && since !== null)
    return failure('--since is for bundles: --format files adds only what its folder does not have');
  if (format === 'files' && values.output === '-')
    return failure('--format files writes a folder, and standard output is none');
  return success({
    releaseId: releaseId.value,
    format,
    output: values.output,
    data: values.data,
    since: since?.value ?? null,
  });
}
