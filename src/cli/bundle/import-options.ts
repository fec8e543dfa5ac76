import { join } from 'node:path';
import { failure, success, type Result } from '../../domain/result.ts';
import { parseOptions } from '../../platform/terminal/parse-options.ts';
import { DEFAULT_DATA } from './find-store.ts';

/** The options of `slipway import`. */
export type ImportOptions = ImportSettings & (FileImport | PipeImport);

interface ImportSettings {
  readonly keys: readonly string[];
  /** Where the objects may be that an incremental bundle leaves out. */
  readonly data: string;
}

interface FileImport {
  readonly file: string;
  /** The folder that the bundle is put into; `null` to check only. */
  readonly to: string | null;
}

/** The bundle comes on standard input. It can only be checked in the folder that it is put into. */
interface PipeImport {
  readonly file: null;
  readonly to: string;
}

const BUNDLES = 'bundles';

/** The help of `slipway import`. */
export const IMPORT_USAGE = `Usage: slipway import FILE|- --keys FILE_OR_DIR [--data DIR] [--to DIR] [--check]

Checks a bundle that slipway export wrote, and puts it into the folder from which a daemon with upstream.kind "bundle"
takes its releases. Everything is checked before the bundle appears there: the signature of the attestation, the manifest
against the signed digest, and every byte.

  -                   reads the bundle from standard input into the folder of bundles, and checks it there
  --keys FILE_OR_DIR  public keys of the Slipway that exported it; may be repeated
  --data DIR          the snapshot volume, or the data folder of make run, which may have the objects that
                      an incremental bundle leaves out (default: ${DEFAULT_DATA})
  --to DIR            the folder of bundles (default: ${BUNDLES} in the folder of --data)
  --check             checks the bundle and puts it nowhere

Ends with 0 when the bundle is sound, 1 when it is not or cannot be written, and 2 for wrong arguments.
`;

/**
 * Reads the command line after `import`.
 *
 * @returns the options, `'help'`, or one sentence that says what is wrong
 */
export function parseImportOptions(argv: readonly string[]): Result<ImportOptions | 'help', string> {
  const parsed = parseOptions({
    args: [...argv],
    allowPositionals: true,
    options: {
      keys: { type: 'string', multiple: true, default: [] },
      data: { type: 'string', default: DEFAULT_DATA },
      to: { type: 'string' },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { values, positionals } = parsed.value;
  if (values.help) return success('help');
  const [file, second] = positionals;
  if (file === undefined || second !== undefined) return failure('name exactly one bundle');
  if (values.keys.length === 0) {
    return failure('--keys is missing: name the public key of the Slipway that exported the bundle');
  }
  if (values.check && values.to !== undefined)
    return failure('--check puts the bundle nowhere; leave --to out');
  const { keys, data, to = join(data, BUNDLES) } = values;
  if (file !== '-') return success({ file, keys, data, to: values.check ? null : to });
  if (!values.check) return success({ file: null, keys, data, to });
  return failure('--check reads the bundle more than once, which a pipe cannot give: name a file');
}
