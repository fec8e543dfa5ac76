import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isOnLocalFileSystem } from '../../../../src/platform/files/local-file-system.ts';

it.runIf(existsSync('/dev/shm'))('recognizes that tmpfs answers from memory', async () => {
  expect(await isOnLocalFileSystem('/dev/shm')).toBe(true);
});

it('treats a file system of another or unknown type as remote', async () => {
  expect(await isOnLocalFileSystem('/proc')).toBe(false);
  expect(await isOnLocalFileSystem('/no/such/path')).toBe(false);
});
