import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { parseOptions } from '../../platform/terminal/parse-options.ts';

/** The options of `slipway verify`. */
export interface VerifyOptions {
  readonly root: string;
  /** Only the release of this id, in whichever channel; `null` for all. */
  readonly releaseId: ReleaseId | null;
  /** Files or directories with trusted public keys; empty to leave the signature alone. */
  readonly keys: readonly string[];
  readonly json: boolean;
  /** Looks at sizes, not at bytes. */
  readonly quick: boolean;
}

/** The help of `slipway verify`. */
export const VERIFY_USAGE = `Usage: slipway verify DIR [--release ID] [--keys FILE_OR_DIR] [--quick] [-o json]

Checks a snapshot volume offline: FORMAT, the attestation, every release record and manifest, the digest
of every object and every block, and that a localized release has the files of its base wherever its
manifest does not mark them as patched. Changes nothing.

  --release ID         checks only this release; the base of a localized one is read for the comparison
  --keys FILE_OR_DIR   also verifies the signature of the attestation with these public keys; may be repeated
  --quick              compares presence and sizes of objects, but does not read them
  -o, --output FORMAT  "text" (default), or "json"; --json is the same as -o json

Ends with 0 when all is sound, 1 when damage was found, 2 for wrong arguments, and 3 when all is sound
but a localized release could not be compared with its base.
`;

/**
 * Reads the command line after `verify`.
 *
 * @returns the options, `'help'`, or one sentence that says what is wrong
 */
export function parseVerifyOptions(argv: readonly string[]): Result<VerifyOptions | 'help', string> {
  const parsed = parseOptions({
    args: [...argv],
    allowPositionals: true,
    options: {
      release: { type: 'string' },
      keys: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      output: { type: 'string', short: 'o', default: 'text' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { values, positionals } = parsed.value;
  if (values.help) return success('help');
  const [root, second] = positionals;
  if (root === undefined || second !== undefined) return failure('name exactly one directory');
  if (values.output !== 'text' && values.output !== 'json') {
    return failure(`--output: "${values.output}" is neither text nor json`);
  }
  const releaseId = values.release === undefined ? null : parseReleaseId(values.release);
  if (releaseId !== null && !releaseId.ok) return failure(`--release: ${releaseId.error}`);
  return success({
    root,
    releaseId: releaseId?.value ?? null,
    keys: values.keys,
    json: values.json || values.output === 'json',
    quick: values.quick,
  });
}
