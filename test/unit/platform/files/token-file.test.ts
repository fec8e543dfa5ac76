import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  followTokenFile,
  readTokenFile,
  tokenDigest,
  TokenFileError,
} from '../../../../src/platform/files/token-file.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

async function pathOf(content: string): Promise<string> {
  const path = join(await temporaryDirectory(), 'token');
  await writeFile(path, content);
  return path;
}

it('reads a token without the white space around it', async () => {
  expect(await readTokenFile(await pathOf(' a-token\n'))).toBe('a-token');
});

it.each([
  ['empty', ' \n', /^token file is empty: .*token$/],
  ['larger than 4 KiB', 'x'.repeat(4_097), /^token file cannot be read: .*larger than the 4096 bytes/],
])('refuses a file that is %s, and does not quote it', async (_what, content, message) => {
  const error: unknown = await readTokenFile(await pathOf(content)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TokenFileError);
  expect((error as Error).message).toMatch(message);
  expect((error as Error).message).not.toContain('xx');
});

it('refuses a file that does not exist', async () => {
  const path = join(await temporaryDirectory(), 'absent');
  await expect(readTokenFile(path)).rejects.toThrow(`token file cannot be read: ${path}: ENOENT`);
});

it('follows a file: each change is read, and each problem is reported once until the file is valid again', async () => {
  const path = await pathOf('first');
  const problems: string[] = [];
  const read = followTokenFile(path, ({ message }) => problems.push(message.slice(0, 22)));
  expect(await read()).toEqual(tokenDigest('first'));
  await writeFile(path, 'the-second');
  expect([await read(), await read()]).toEqual([tokenDigest('the-second'), tokenDigest('the-second')]);
  await writeFile(path, '');
  expect([await read(), await read()]).toEqual([null, null]);
  await rm(path);
  expect([await read(), await read()]).toEqual([null, null]);
  expect(problems).toEqual(
    ['token file is empty: ', 'token file cannot be r'].map(
      (text) => expect.stringContaining(text) as string,
    ),
  );
  await writeFile(path, 'third');
  expect(await read()).toEqual(tokenDigest('third'));
  await rm(path);
  await read();
  expect(problems).toHaveLength(3);
});
