import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  createTokenFile,
  findWeakTokenFiles,
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

it('creates a file with a random token that only its owner can read, and keeps a file that exists', async () => {
  const directory = await temporaryDirectory();
  const [first, second] = [join(directory, 'first'), join(directory, 'second')];
  expect([await createTokenFile(first), await createTokenFile(second)]).toEqual([true, true]);
  expect((await stat(first)).mode & 0o777).toBe(0o600);
  const token = await readTokenFile(first);
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(await readTokenFile(second)).not.toBe(token);
  expect(await createTokenFile(first)).toBe(false);
  expect(await readTokenFile(first)).toBe(token);
  const empty = await pathOf('');
  expect(await createTokenFile(empty)).toBe(false);
  expect(await readFile(empty, 'utf8')).toBe('');
});

it('finds short tokens and files that every user can read, without quoting a token', async () => {
  const [short, readable, good] = [
    await pathOf('fifteen-letters'),
    await pathOf('a-token-of-some-length'),
    await pathOf('sixteen-letters!'),
  ];
  for (const [path, mode] of [
    [short, 0o600],
    [readable, 0o644],
    [good, 0o640],
  ] as const) {
    await chmod(path, mode);
  }
  const absent = join(await temporaryDirectory(), 'absent');
  expect(await findWeakTokenFiles([short, readable, good, absent])).toEqual([
    `${short}: the token has 15 characters; replace it by a random one of at least 16`,
    `${readable}: every user of this machine can read the token; run chmod 600 on it`,
  ]);
});

it('names the file that it cannot create and says what to do', async () => {
  const path = join(await temporaryDirectory(), 'no-folder', 'token');
  await expect(createTokenFile(path)).rejects.toThrow(`token file cannot be created: ${path}: ENOENT`);
  await expect(createTokenFile(path)).rejects.toThrow('; create its folder, or choose another path');
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
