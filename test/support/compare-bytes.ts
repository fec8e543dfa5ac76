import { expect } from 'vitest';

// The runner compares typed arrays element by element: for 5 MiB that takes 0.7 s of processor time, and this a millisecond. Bytes
// that differ are compared by the runner once more, which shows where.
expect.addEqualityTesters([
  (left, right) => (Buffer.isBuffer(left) && Buffer.isBuffer(right) && left.equals(right) ? true : undefined),
]);
