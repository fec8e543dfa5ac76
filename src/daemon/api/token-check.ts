import { createHash, timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { readBoundedFile } from '../../platform/files/files.ts';
import type { Logger } from '../../platform/logging/logging.ts';

const TOKEN_FILE_MAX_BYTES = 4096;
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/**
 * Makes the check of the shared token. The file is read again when it has changed, so that the token can be rotated; as
 * long as it is empty or cannot be read, every request is refused.
 *
 * @param tokenFile the current token file: one token; white space around it is ignored. `null` admits every request
 * @returns whether the value of an `Authorization` header is the token, compared in constant time over digests
 *
 * Source: RFC 6750, section 2.1.
 */
export function createTokenCheck(
  tokenFile: () => string | null,
  logger: Logger,
): (authorization: string | undefined) => Promise<boolean> {
  let stamp = '';
  let expected: Buffer | null = null;
  let trouble = '';

  const refresh = async (file: string): Promise<void> => {
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(file);
      const found = `${file} ${mtimeMs} ${ctimeMs} ${size} ${ino}`;
      if (found === stamp) return;
      const token = (await readBoundedFile(file, TOKEN_FILE_MAX_BYTES)).toString('utf8').trim();
      expected = token === '' ? null : digestOf(token);
      stamp = found;
      report(file, token === '' ? 'it is empty' : '');
    } catch (error) {
      expected = null;
      stamp = '';
      report(file, error instanceof Error ? error.message : String(error));
    }
  };

  const report = (file: string, found: string): void => {
    if (found !== '' && found !== trouble) {
      logger.error({ file, problem: found }, 'the token file cannot be used; every request is refused');
    }
    trouble = found;
  };

  return async (authorization) => {
    const file = tokenFile();
    if (file === null) return true;
    await refresh(file);
    const presented = digestOf(BEARER.exec(authorization ?? '')?.[1] ?? '');
    return expected !== null && timingSafeEqual(expected, presented);
  };
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
