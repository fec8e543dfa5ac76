import { describe, expect } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import type { RawAnswer } from './raw-http.ts';
import { startServedProcess, type ServedProcess, type ServedProcessOptions } from './served-process.ts';
import { sharedFixture } from './shared-fixture.ts';

const MIB = 1024 * 1024;

/**
 * Sizes around the limits that decide how bytes are sent: nothing, one write, a block and its neighbours, several
 * blocks.
 */
export const BYTE_FILES: Readonly<Record<string, Buffer>> = byteFiles();

function byteFiles(): Record<string, Buffer> {
  const random = createRandom(20_261_121);
  return {
    'TableBundles/Excel.zip': random.bytes(5000),
    'MediaResources/64k.ogg': random.bytes(64 * 1024),
    'MediaResources/exact.ogg': random.bytes(MIB),
    'MediaResources/more.ogg': random.bytes(MIB + 1),
    'MediaResources/Opening.mp4': random.bytes(3 * MIB + 77),
    'Windows_PatchPack/unity default resources': random.bytes(300),
    'Windows_PatchPack/日本語.json': Buffer.from('{"TextJp":"先生"}'),
    'Windows_PatchPack/100%+&?#.txt': Buffer.from('odd name'),
    'empty.bytes': Buffer.alloc(0),
  };
}

/** The names that the tests use most. */
export const SMALL = 'TableBundles/Excel.zip';
export const LARGE = 'MediaResources/Opening.mp4';
export const EMPTY = 'empty.bytes';

/** The entity tag of some bytes. */
export function etagOf(bytes: Buffer): string {
  return `"${blake3Hex(bytes)}"`;
}

/** Both paths that bytes can take through the server. */
export const BYTE_PATHS = [
  ['full server', false],
  ['fast path', true],
] as const;

/**
 * Registers a group of tests once for each byte path. All tests of a group share one server process.
 *
 * @param tests gets a function that returns the process, inside the tests
 */
export function describeBytePaths(
  tests: (served: () => ServedProcess) => void,
  options: Omit<Partial<ServedProcessOptions>, 'fastPath' | 'atEnd'> = {},
): void {
  describe.each(BYTE_PATHS)('%s', (_name, fastPath) => {
    tests(
      sharedFixture(
        async (atEnd) =>
          await startServedProcess({
            release: { releaseId: 'r1', files: BYTE_FILES },
            ...options,
            fastPath,
            atEnd,
          }),
      ),
    );
  });
}

/** Expects a 200 with all of some bytes. */
export function expectWhole(answer: RawAnswer, bytes: Buffer): void {
  expect(answer.status).toBe(200);
  expect(answer.headers['content-range']).toBeUndefined();
  expect(answer.headers['accept-ranges']).toBe('bytes');
  expect(answer.body.equals(bytes)).toBe(true);
}
