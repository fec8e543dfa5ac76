import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isOnLocalFileSystem } from '../../../../src/platform/files/local-file-system.ts';

it.runIf(existsSync('/dev/shm'))('knows that tmpfs answers from memory', async () => {
  expect(await isOnLocalFileSystem('/dev/shm')).toBe(true);
});

it('takes a file system of another type, or one that cannot be asked, for a remote one', async () => {
  expect(await isOnLocalFileSystem('/proc')).toBe(false);
  expect(await isOnLocalFileSystem('/no/such/path')).toBe(false);
});
