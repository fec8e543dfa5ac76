import { execFileSync } from 'node:child_process';
import { mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  FileTooLargeError,
  fsyncDirectory,
  readBoundedFile,
  writeFileDurably,
} from '../../../../src/platform/files/files.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

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
