import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { placeBundle } from '../../../../src/cli/bundle/place-bundle.ts';
import { tarHeader } from '../../../../src/mirror/bundle/tar-file.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const MIB = 1024 * 1024;
const HEADER = tarHeader('oci-layout', 30);

it('a bundle that comes through a pipe stops before it fills the volume, and leaves nothing', async () => {
  const folder = join(await temporaryDirectory(), 'bundles');
  await mkdir(folder);
  let given = 0;
  const pieces = Readable.from(
    (function* () {
      while (given < 200 * MIB) {
        yield given === 0 ? HEADER : Buffer.alloc(4 * MIB);
        given += 4 * MIB;
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

it.each([
  ['zeros', Buffer.alloc(MIB)],
  ['compressed bytes', Buffer.alloc(MIB, '\u001f')],
  // The first pieces of a pipe can be shorter than a header.
  ['lines', Buffer.from('no archive\n')],
])('a pipe of %s is refused at its first header, not at its end', async (_what, piece) => {
  const folder = await temporaryDirectory();
  let given = 0;
  const pieces = Readable.from(
    (function* () {
      while (given < 100 * MIB) {
        given += piece.length;
        yield piece;
      }
    })(),
  );
  const placing = placeBundle({
    folder,
    source: { kind: 'pipe', pieces },
    check: async () => await Promise.reject(new Error('there is no end to check')),
    now: () => Date.now(),
    signal: new AbortController().signal,
  });
  await expect(placing).rejects.toThrow(
    'standard input: the block at 0 is not a header of a tar archive; is it compressed, or damaged?',
  );
  expect(given).toBeLessThan(64 * MIB);
  expect(await readdir(folder)).toEqual([]);
});

it('a pipe whose first bytes come one by one is copied whole', async () => {
  const folder = await temporaryDirectory();
  const pieces = Readable.from([...HEADER, ...Buffer.from('more')].map((byte) => Buffer.from([byte])));
  await placeBundle({
    folder,
    source: { kind: 'pipe', pieces },
    check: async () => await Promise.resolve({ name: 'r1.tar' }),
    now: () => Date.now(),
    signal: new AbortController().signal,
  });
  expect(await readFile(join(folder, 'r1.tar'))).toEqual(Buffer.concat([HEADER, Buffer.from('more')]));
});
