import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { helpColumns } from '../../platform/terminal/help-columns.ts';
import { parseOptions } from '../../platform/terminal/parse-options.ts';
import { VERIFY_EXIT_MEANINGS } from './verify-exits.ts';

/** The options of `slipway verify --url`. */
export interface MirrorVerifyOptions {
  readonly kind: 'mirror';
  /** Without a trailing slash. */
  readonly url: string;
  /** Another Slipway that should serve the same, or `null`. */
  readonly against: string | null;
  /** File with the token for `url`. */
  readonly tokenFile: string | undefined;
  /** File with the token for `against`. */
  readonly againstTokenFile: string | undefined;
  readonly keys: readonly string[];
  /** How many files of each release are read; `null` for all. */
  readonly sample: number | null;
  /** Longest time of the whole check, seconds; `null` for no limit. */
  readonly timeoutSeconds: number | null;
  readonly json: boolean;
}

/** The options of `slipway verify DIR`. */
export interface VerifyOptions {
  readonly kind: 'volume';
  readonly root: string;
  /** Only the release of this id, in whichever channel; `null` for all. */
  readonly releaseId: ReleaseId | null;
  /** Files or directories with trusted public keys; empty to leave the signature alone. */
  readonly keys: readonly string[];
  readonly json: boolean;
  readonly quick: boolean;
}

/** The help of `slipway verify`. */
export const VERIFY_USAGE = `Usage: slipway verify DIR [--release ID] [--keys FILE_OR_DIR] [--quick] [-o json]
       slipway verify --url URL --keys FILE_OR_DIR [--sample N] [--timeout SECONDS] [--token-file FILE]
                      [--against URL [--against-token-file FILE]] [-o json]

Checks a snapshot volume offline: FORMAT, the attestation, every release record and manifest, the digest
of every object and every block, and that a localized release has the files of its base wherever its
manifest does not mark them as patched. DIR is the volume, or the data folder of make run. Changes nothing.

With --url: checks a running Slipway from outside, by its public interface alone, or a static mirror that
slipway export --format files wrote: the signature of its attestation, the manifest of each current
release, and the bytes of every file. It also says what a sound result does not show.

  --release ID         checks only this release; the base of a localized one is read for the comparison
  --keys FILE_OR_DIR   also verifies the signature of the attestation with these public keys; may be repeated
  --quick              compares presence and sizes of objects, but does not read them
  --url URL            the base URL of the Slipway or the static mirror to check from outside
  --token-file FILE    file with the token that it wants on its public routes; without it
                       SLIPWAY_VERIFY_TOKEN_FILE, else the token in SLIPWAY_VERIFY_TOKEN
  --sample N           reads N files of each release, chosen at random, instead of all
  --timeout SECONDS    time limit for the whole check of a mirror; without it, only each file has one
  --against URL        also compares with this Slipway: both must have the same current releases; without it,
                       a mirror that has fallen behind is sound
  --against-token-file FILE
                       file with the token of that one, which gets no other
  -o, --output FORMAT  "text" (default), or "json"; --json is the same as -o json

Exit codes:
${helpColumns(VERIFY_EXIT_MEANINGS)}`;

/**
 * Reads the command line after `verify`.
 *
 * @returns the options, `'help'`, or one sentence that says what is wrong
 */
export function parseVerifyOptions(
  argv: readonly string[],
): Result<VerifyOptions | MirrorVerifyOptions | 'help', string> {
  const parsed = parseOptions({
    args: [...argv],
    allowPositionals: true,
    options: {
      release: { type: 'string' },
      keys: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      output: { type: 'string', short: 'o', default: 'text' },
      quick: { type: 'boolean', default: false },
      url: { type: 'string' },
      against: { type: 'string' },
      'token-file': { type: 'string' },
      'against-token-file': { type: 'string' },
      sample: { type: 'string' },
      timeout: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { values, positionals } = parsed.value;
  if (values.help) return success('help');
  if (values.output !== 'text' && values.output !== 'json') {
    return failure(`--output: "${values.output}" is neither text nor json`);
  }
  const json = values.json || values.output === 'json';
  return values.url === undefined
    ? volumeOptions(values, positionals, json)
    : mirrorOptions({ ...values, url: values.url }, positionals, json);
}

interface Values {
  readonly release?: string | undefined;
  readonly keys: readonly string[];
  readonly quick: boolean;
  readonly url?: string | undefined;
  readonly against?: string | undefined;
  readonly 'token-file'?: string | undefined;
  readonly 'against-token-file'?: string | undefined;
  readonly sample?: string | undefined;
  readonly timeout?: string | undefined;
}

const LONGEST_TIMEOUT_SECONDS = 7 * 86_400;

function volumeOptions(
  { release, keys, quick, against, sample, timeout, ...tokens }: Values,
  [root, second]: readonly string[],
  json: boolean,
): Result<VerifyOptions, string> {
  if (root === undefined || second !== undefined)
    return failure('name exactly one directory, or a mirror with --url');
  if (against !== undefined) return failure('--against compares mirrors; name one with --url');
  if (tokens['token-file'] !== undefined || tokens['against-token-file'] !== undefined)
    return failure('--token-file and --against-token-file are for mirrors; name one with --url');
  if (sample !== undefined) return failure('--sample is for mirrors; name one with --url, or use --quick');
  if (timeout !== undefined) return failure('--timeout is for mirrors; name one with --url');
  const releaseId = release === undefined ? null : parseReleaseId(release);
  if (releaseId !== null && !releaseId.ok) return failure(`--release: ${releaseId.error}`);
  return success({ kind: 'volume', root, releaseId: releaseId?.value ?? null, keys, json, quick });
}

function mirrorOptions(
  { url, keys, release, quick, against, sample, timeout, ...tokens }: Values & { readonly url: string },
  positionals: readonly string[],
  json: boolean,
): Result<MirrorVerifyOptions, string> {
  if (positionals.length > 0) return failure('name a directory or --url, not both');
  if (release !== undefined || quick)
    return failure('--release and --quick are for directories; a mirror has --sample');
  if (keys.length === 0) return failure('--keys is missing: name the public key of the Slipway behind --url');
  const wrongNumber = problemOfNumbers(sample, timeout);
  if (wrongNumber !== null) return failure(wrongNumber);
  const base = baseUrl('--url', url);
  if (!base.ok) return base;
  const other = against === undefined ? null : baseUrl('--against', against);
  if (other !== null && !other.ok) return other;
  const { 'token-file': tokenFile, 'against-token-file': againstTokenFile } = tokens;
  if (other === null && againstTokenFile !== undefined)
    return failure('--against-token-file needs --against, the Slipway that wants the token');
  return success({
    kind: 'mirror',
    url: base.value,
    against: other?.value ?? null,
    tokenFile,
    againstTokenFile,
    keys,
    sample: sample === undefined ? null : Number(sample),
    timeoutSeconds: timeout === undefined ? null : Number(timeout),
    json,
  });
}

function problemOfNumbers(sample: string | undefined, timeout: string | undefined): string | null {
  if (sample !== undefined && !isNumberTo(9_999_999, sample))
    return `--sample: "${sample}" is not a number from 1 to 9999999`;
  if (timeout !== undefined && !isNumberTo(LONGEST_TIMEOUT_SECONDS, timeout))
    return `--timeout: "${timeout}" is not a number of seconds from 1 to ${LONGEST_TIMEOUT_SECONDS}`;
  return null;
}

function isNumberTo(max: number, text: string): boolean {
  return /^[1-9]\d{0,6}$/.test(text) && Number(text) <= max;
}

function baseUrl(option: string, text: string): Result<string, string> {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return failure(`${option}: "${text}" is not a URL such as https://resources.example.org`);
  }
  // A password would end up in reports and messages.
  if (url.username !== '' || url.password !== '')
    return failure(`${option}: the URL must not hold a name or a password`);
  if (url.search !== '' || url.hash !== '')
    return failure(`${option}: the URL must not have a query or a fragment`);
  return success(url.href.replace(/\/+$/, ''));
}
