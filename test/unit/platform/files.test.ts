import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findBelowRoot, findBelowRootSync, placeBelowRoot } from '../../../src/platform/files/below-root.ts';
import {
  FileTooLargeError,
  fsyncDirectory,
  readBoundedFile,
  writeFileDurably,
} from '../../../src/platform/files/files.ts';
import {
  createTokenFile,
  findWeakTokenFiles,
  followTokenFile,
  readTokenFile,
  tokenDigest,
  TokenFileError,
} from '../../../src/platform/files/token-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A root with the file a/b.txt, a folder, and links that stay within it and that leave it. */
async function world(): Promise<{ readonly root: string; readonly outside: string }> {
  const folder = realpathSync(await temporaryDirectory());
  const [root, outside] = [join(folder, 'root'), join(folder, 'outside')];
  mkdirSync(join(root, 'a'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(root, 'a/b.txt'), 'inside');
  writeFileSync(join(outside, 'secret.txt'), 'outside');
  symlinkSync('a/b.txt', join(root, 'in.txt'));
  symlinkSync('../outside/secret.txt', join(root, 'out.txt'));
  symlinkSync('../outside', join(root, 'door'));
  return { root, outside };
}

const LEAVING = [
  '../outside/secret.txt',
  '/etc/passwd',
  'a/../../x',
  './a',
  'a//b.txt',
  'a\\b.txt',
  'a\0',
  '',
];

describe('a path below a root', () => {
  describe.each([
    ['findBelowRoot', findBelowRoot],
    ['findBelowRootSync', async (root: string, path: string) => findBelowRootSync(root, path)],
  ])('%s', (_, find) => {
    it('finds files and links within the root, and says when there is none', async () => {
      const { root } = await world();
      expect(await find(root, 'a/b.txt')).toBe(join(root, 'a/b.txt'));
      expect(await find(root, 'in.txt')).toBe(join(root, 'a/b.txt'));
      expect(await find(root, 'a/c.txt')).toBeNull();
      expect(await find(root, 'a/b.txt/c')).toBeNull();
      expect(await find(join(root, 'none'), 'a')).toBeNull();
    });

    it.each([...LEAVING, 'out.txt', 'door/secret.txt', 'a'])('refuses %j', async (path) => {
      const { root } = await world();
      await expect(find(root, path)).rejects.toMatchObject({ code: 'invalid_path' });
    });
  });

  describe('placeBelowRoot', () => {
    it('makes the root and the folders of the path', async () => {
      const { root } = await world();
      const place = await placeBelowRoot(join(root, 'new'), 'x/y/z.txt');
      writeFileSync(place, 'written');
      expect(readFileSync(join(root, 'new/x/y/z.txt'), 'utf8')).toBe('written');
      expect(await placeBelowRoot(root, 'out.txt')).toBe(join(root, 'out.txt'));
    });

    it.each([...LEAVING, 'door/new.txt', 'a', 'in.txt/x'])('refuses %j', async (path) => {
      const { root } = await world();
      await expect(placeBelowRoot(root, path)).rejects.toMatchObject({ code: 'invalid_path' });
    });
  });
});

describe('a file on a volume', () => {
  describe('writeFileDurably', () => {
    it('replaces the file, with the requested mode, and leaves nothing else behind', async () => {
      const directory = await temporaryDirectory();
      const path = join(directory, 'current.json');
      await writeFileDurably(path, 'old');
      await writeFileDurably(path, Buffer.from('new'), undefined, 0o600);
      expect(await readFile(path, 'utf8')).toBe('new');
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect(await readdir(directory)).toEqual(['current.json']);
    });

    it.each([
      ['durable:written', 'old'],
      ['durable:synced', 'old'],
      ['durable:renamed', 'new'],
    ])('leaves whole bytes and no temporary file when it fails at %s', async (place, expected) => {
      const directory = await temporaryDirectory();
      const path = join(directory, 'file');
      await writeFile(path, 'old');
      const failing = {
        hit: (name: string) => {
          if (name === place) throw new Error('stop here');
        },
      };
      await expect(writeFileDurably(path, 'new', failing)).rejects.toThrow('stop here');
      expect(await readFile(path, 'utf8')).toBe(expected);
      expect(await readdir(directory)).toEqual(['file']);
    });

    it('passes on the file system error', async () => {
      const path = join(await temporaryDirectory(), 'absent', 'file');
      await expect(writeFileDurably(path, 'x')).rejects.toMatchObject({ code: 'ENOENT' });
    });
  });

  describe('fsyncDirectory', () => {
    it('refuses a path that is not a directory', async () => {
      const directory = await temporaryDirectory();
      await fsyncDirectory(directory);
      await writeFile(join(directory, 'file'), '');
      await expect(fsyncDirectory(join(directory, 'file'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    });
  });

  describe('readBoundedFile', () => {
    it.each([0, 1, 9, 10])('reads a file of %i of at most 10 bytes', async (size) => {
      const path = join(await temporaryDirectory(), 'file');
      await writeFile(path, Buffer.alloc(size, 7));
      expect(await readBoundedFile(path, 10)).toEqual(Buffer.alloc(size, 7));
    });

    it('refuses a larger one and names it', async () => {
      const path = join(await temporaryDirectory(), 'file');
      await writeFile(path, Buffer.alloc(11));
      await expect(readBoundedFile(path, 10)).rejects.toThrow(FileTooLargeError);
      await expect(readBoundedFile(path, 10)).rejects.toThrow(`${path} is larger than the 10 bytes allowed`);
    });

    it('stays within its bound where the file system states no size', async () => {
      expect((await readBoundedFile('/proc/self/status', 65_536)).toString()).toContain('Name:');
      await expect(readBoundedFile('/proc/self/status', 20)).rejects.toThrow(FileTooLargeError);
    });

    it('follows links, and refuses directories and pipes immediately', async () => {
      const directory = await temporaryDirectory();
      await writeFile(join(directory, 'data'), 'text');
      await symlink('data', join(directory, 'link'));
      expect(String(await readBoundedFile(join(directory, 'link'), 10))).toBe('text');
      await mkdir(join(directory, 'folder'));
      await expect(readBoundedFile(join(directory, 'folder'), 10)).rejects.toThrow('is not a regular file');
      execFileSync('mkfifo', [join(directory, 'pipe')]);
      await expect(readBoundedFile(join(directory, 'pipe'), 10)).rejects.toThrow('is not a regular file');
    });
  });
});

async function pathOf(content: string | Buffer): Promise<string> {
  const path = join(await temporaryDirectory(), 'token');
  await writeFile(path, content);
  return path;
}

describe('the file of a token', () => {
  it('reads a token without the white space around it', async () => {
    expect(await readTokenFile(await pathOf(' a-token\n'))).toBe('a-token');
  });

  it.each([
    ['empty', ' \n', /^token file is empty: .*token$/],
    [
      'UTF-16',
      Buffer.from('\u{feff}xx-token', 'utf16le'),
      /^token file cannot be used: .*token: it is in UTF-16; write one line/,
    ],
    [
      'UTF-16 without a mark',
      Buffer.from('xx-token', 'utf16le'),
      /: it holds a NUL byte, as a file in UTF-16/,
    ],
    ['of two lines', 'xx-token\nxx-another\n', /: it holds more than one line;/],
    ['two words', 'xx token', /: it holds a blank or a control character inside the token;/],
    ['not ASCII', 'xx-t\u00f6ken', /: it holds a character outside of ASCII;/],
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

  it('finds short tokens, files that every user can read and files without a token, and quotes none', async () => {
    const [short, readable, good, unusable] = [
      await pathOf('fifteen-letters'),
      await pathOf('a-token-of-some-length'),
      await pathOf('sixteen-letters!'),
      await pathOf('two lines of text\nof which none is a token'),
    ];
    for (const [path, mode] of [
      [short, 0o600],
      [readable, 0o644],
      [good, 0o640],
    ] as const) {
      await chmod(path, mode);
    }
    const absent = join(await temporaryDirectory(), 'absent');
    expect(await findWeakTokenFiles([short, readable, good, absent, unusable])).toEqual([
      `${short}: the token has 15 characters; replace it by a random one of at least 16`,
      `${readable}: every user of this machine can read the token; run chmod 600 on it`,
      `token file cannot be used: ${unusable}: it holds more than one line; write one line of visible ASCII characters without blanks`,
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
});
