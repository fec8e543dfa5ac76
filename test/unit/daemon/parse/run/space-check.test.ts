import { expect, it } from 'vitest';
import { createSpaceCheck } from '../../../../../src/daemon/parse/run/space-check.ts';

const MEBIBYTE = 1024 * 1024;

it.each([
  [7.9, false],
  [8, true],
])('with %d MiB free the index may grow: %s', (free, isEnough) => {
  const check = createSpaceCheck('/data', (path) => {
    expect(path).toBe('/data');
    return { bavail: (free * MEBIBYTE) / 4096, bsize: 4096 };
  });
  if (isEnough) expect(check).not.toThrow();
  else
    expect(check).toThrow(
      expect.objectContaining({ code: 'data_full', message: expect.stringMatching(/\/data.*free space/) }),
    );
});
