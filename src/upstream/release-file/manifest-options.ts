import { join } from 'node:path';
import {
  APP_VERSION_PATTERN,
  RELEASE_FILE,
  SERVER_INFO_FILE,
} from '../../contract/formats/release-file-format.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { parseOptions } from '../../platform/terminal/parse-options.ts';

/** The options of `slipway manifest`. */
export interface ManifestOptions {
  readonly directory: string;
  /** The file to write; `null` for standard output. */
  readonly output: string | null;
  /** `null` for one that is derived from the content. */
  readonly releaseId: ReleaseId | null;
  readonly appVersion: string | null;
  /** Whether digests of files that have not changed are taken from the file that is replaced. */
  readonly update: boolean;
}

/** The help of `slipway manifest`. */
export const MANIFEST_USAGE = `Usage: slipway manifest DIR [--release ID] [--app-version VERSION] [--update] [-o FILE]

Writes ${RELEASE_FILE}: the list of the files in a folder with their sizes and BLAKE3 digests. With it, a daemon can take the
folder from any web server or bucket as its upstream (upstream.kind "manifest", make run UPSTREAM=URL). It belongs beside
the files, and is uploaded after them. Reads each file once, on all processors, and changes none.

Files and folders whose names begin with a dot are left out. ${SERVER_INFO_FILE} in DIR is not a file of the release but its
server-info document. Symbolic links are refused.

  --release ID           the release id (default: dir- and 16 digits of a digest over all files, so the same files
                         give the same id; with --update, an id that was given before stays)
  --app-version VERSION  the version that clients show
  --update               reads only files whose size or modification time differs from what the replaced file says
  -o, --output FILE      the file to write (default: ${RELEASE_FILE} in DIR); "-" writes to standard output

Ends with 0 when the file is written, 1 when it cannot be, and 2 for wrong arguments.
`;

/**
 * Reads the command line after `manifest`.
 *
 * @returns the options, `'help'`, or one sentence that says what is wrong
 */
export function parseManifestOptions(argv: readonly string[]): Result<ManifestOptions | 'help', string> {
  const parsed = parseOptions({
    args: [...argv],
    allowPositionals: true,
    options: {
      release: { type: 'string' },
      'app-version': { type: 'string' },
      update: { type: 'boolean', default: false },
      output: { type: 'string', short: 'o' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { values, positionals } = parsed.value;
  if (values.help) return success('help');
  const [directory, second] = positionals;
  if (directory === undefined || second !== undefined) return failure('name exactly one folder');
  const releaseId = values.release === undefined ? null : parseReleaseId(values.release);
  if (releaseId !== null && !releaseId.ok) return failure(`--release: ${releaseId.error}`);
  const appVersion = values['app-version'] ?? null;
  if (appVersion !== null && !APP_VERSION_PATTERN.test(appVersion))
    return failure('--app-version: it must be 1 to 64 visible ASCII characters');
  const { update, output = join(directory, RELEASE_FILE) } = values;
  if (output === '') return failure('--output: name a file');
  if (update && output === '-') return failure('--update replaces a file, and standard output is none');
  return success({
    directory,
    output: output === '-' ? null : output,
    releaseId: releaseId?.value ?? null,
    appVersion,
    update,
  });
}
