import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { placeBundle } from '../../../../src/cli/bundle/place-bundle.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MIB = 1024 * 1024;

it('a bundle that comes through a pipe stops before it fills the volume, and leaves nothing', async () => {
  const folder = join(await temporaryDirectory(), 'bundles');
  await mkdir(folder);
  let given = 0;
  const pieces = Readable.from(
    (function* () {
      while (given < 200 * MIB) {
        given += 4 * MIB;
        yield Buffer.alloc(4 * MIB);
      }
    })(),
  );
  const placing = placeBundle({
    folder,
    source: { kind: 'pipe', pieces },
    check: async () => await Promise.reject(new Error('there is no end to check')),
    now: () => Date.now(),
    signal: new AbortController().signal,
    look: async () => await Promise.resolve({ bavail: 100 * MIB - given, bsize: 1 }),
  });
  await expect(placing).rejects.toThrow(
    /^standard input has more than \d+\.0 MiB, and .* has \d+\.0 MiB free, of which 64\.0 MiB must stay free: /,
  );
  expect(given).toBeLessThan(100 * MIB);
  expect(await readdir(folder)).toEqual([]);
});
