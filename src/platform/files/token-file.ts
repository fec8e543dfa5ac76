import { hash, randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { noFailpoints } from './failpoints.ts';
import { readBoundedFile, writeFileDurably } from './files.ts';
import { messageOf } from '../errors.ts';
import { errorCode } from './error-code.ts';

const TOKEN_FILE_MAX_BYTES = 4_096;

/** A token file cannot be used. The message names the file and says why; it never quotes the token. */
export class TokenFileError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TokenFileError';
  }
}

class TokenFileAbsent extends TokenFileError {}

/** A token: visible ASCII characters, which a header field and a query can carry as they are. */
const TOKEN = /^[!-~]+$/;

/**
 * Reads a file that holds one token. White space around the token does not count.
 *
 * @throws TokenFileError for a file that cannot be read, holds more than 4 KiB, is empty, or holds anything but one token of visible
 *   ASCII characters
 */
export async function readTokenFile(path: string): Promise<string> {
  const bytes = await readBoundedFile(path, TOKEN_FILE_MAX_BYTES).catch((cause: unknown) => {
    throw unreadable(path, cause);
  });
  const token = bytes.toString('utf8').trim();
  if (token === '') throw new TokenFileError(`token file is empty: ${path}`);
  if (TOKEN.test(token)) return token;
  throw new TokenFileError(
    `token file cannot be used: ${path}: it ${flawOf(bytes, token)}; write one line of visible ASCII characters without blanks`,
  );
}

/** What a file holds that is no token, without quoting it. */
function flawOf(bytes: Buffer, token: string): string {
  const mark = bytes.toString('hex', 0, 2);
  if (mark === 'fffe' || mark === 'feff') return 'is in UTF-16';
  if (token.includes('\0')) return 'holds a NUL byte, as a file in UTF-16 does';
  if (/[\r\n]/.test(token)) return 'holds more than one line';
  if (/[\0-\x20\x7f]/.test(token)) return 'holds a blank or a control character inside the token';
  return 'holds a character outside of ASCII';
}

const TOKEN_MIN_LENGTH = 16;
const OTHERS_MAY_READ = 0o004;

/**
 * Finds what is wrong with token files: one that cannot be used, a short token, or a file that every user of the machine can read. It
 * leaves out files that do not exist.
 *
 * @returns one sentence for each finding, with the file and the remedy, never with the token
 */
export async function findWeakTokenFiles(paths: readonly string[]): Promise<readonly string[]> {
  const findings = await Promise.all(
    paths.map(async (path) => {
      const [token, found] = await Promise.all([
        readTokenFile(path).catch((error: unknown) => error),
        stat(path).catch(() => null),
      ]);
      if (token instanceof TokenFileAbsent || found === null) return [];
      if (typeof token !== 'string') return [messageOf(token)];
      const weak: string[] = [];
      if (token.length < TOKEN_MIN_LENGTH) {
        weak.push(
          `${path}: the token has ${token.length} characters; replace it by a random one of at least ${TOKEN_MIN_LENGTH}`,
        );
      }
      if ((found.mode & OTHERS_MAY_READ) !== 0) {
        weak.push(`${path}: every user of this machine can read the token; run chmod 600 on it`);
      }
      return weak;
    }),
  );
  return findings.flat();
}

const TOKEN_BYTES = 32;
const OWNER_ONLY = 0o600;

const FREE_SPACE = 'free space on its volume';
const MAKE_WRITABLE = 'make its folder writable for this process';
/** What to do when a token file cannot be created. Source: errno(3). */
const CREATION_ADVICE: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', FREE_SPACE],
  ['EDQUOT', FREE_SPACE],
  ['EROFS', MAKE_WRITABLE],
  ['EACCES', MAKE_WRITABLE],
  ['EPERM', MAKE_WRITABLE],
  ['ENOENT', 'create its folder'],
]);

/**
 * Creates a token file with a new random token that only its owner can read. An existing file stays as it is.
 *
 * @throws TokenFileError if the folder is missing, full or not writable
 */
export async function createTokenFile(path: string): Promise<boolean> {
  try {
    if ((await stat(path).catch(absent)) !== null) return false;
    const token = `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`;
    await writeFileDurably(path, token, noFailpoints, OWNER_ONLY);
    return true;
  } catch (cause) {
    const advice = CREATION_ADVICE.get(errorCode(cause) ?? '') ?? 'make its folder usable';
    const message = `token file cannot be created: ${path}: ${messageOf(cause)}; ${advice}, or choose another path`;
    throw new TokenFileError(message, { cause });
  }
}

function absent(error: unknown): null {
  if (errorCode(error) === 'ENOENT') return null;
  throw error;
}

/**
 * Follows a token file, so that its token can be rotated without a restart.
 *
 * @returns a function that reads the file again when it has changed and returns the digest of its token, or `null` while
 *   the file cannot be used
 */
export function followTokenFile(
  path: string,
  onProblem: (problem: TokenFileError) => void,
  onToken: (token: string) => void = () => undefined,
): () => Promise<Buffer | null> {
  let stamp = '';
  let digest: Buffer | null = null;
  let problem = '';
  return async () => {
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(path).catch((cause: unknown) => {
        throw unreadable(path, cause);
      });
      const found = `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
      if (found === stamp) return digest;
      const token = await readTokenFile(path);
      onToken(token);
      digest = tokenDigest(token);
      stamp = found;
      problem = '';
    } catch (error) {
      if (!(error instanceof TokenFileError)) throw error;
      stamp = '';
      digest = null;
      if (error.message !== problem) onProblem(error);
      problem = error.message;
    }
    return digest;
  };
}

/** The digest by which tokens are compared in constant time (SHA-256, 32 bytes). */
export function tokenDigest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

function unreadable(path: string, cause: unknown): TokenFileError {
  const message = `token file cannot be read: ${path}: ${messageOf(cause)}`;
  return errorCode(cause) === 'ENOENT'
    ? new TokenFileAbsent(message, { cause })
    : new TokenFileError(message, { cause });
}
