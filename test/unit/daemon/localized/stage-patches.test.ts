import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PatchedFile } from '../../../../src/daemon/localized/publish/patch-manifest.ts';
import { checkPatches } from '../../../../src/daemon/localized/publish/stage-patches.ts';
import type { TaskContext } from '../../../../src/daemon/tasks/task.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

test('a dry run does not read a file of another size than stated', async () => {
  const root = await temporaryDirectory();
  await writeFile(join(root, 'a.csv'), 'short');
  await truncate(join(root, 'a.csv'), 2 ** 40);
  let hashed = 0;
  const pool = {
    hashFile: async () => {
      hashed += 1;
      return await Promise.reject(new Error('it was read'));
    },
  };
  const entry = { destination: 'a.csv', file: 'a.csv', blake3: 'a'.repeat(64), size: 5 } as PatchedFile;
  const context = { signal: new AbortController().signal, progress: () => undefined } as unknown;
  await expect(checkPatches(pool, root, [entry], context as TaskContext)).rejects.toMatchObject({
    code: 'patch_file_mismatch',
  });
  expect(hashed).toBe(0);
});
