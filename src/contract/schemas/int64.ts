import { z } from 'zod';

/** Smallest and largest signed 64-bit integer. */
export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

export interface Int64Bounds {
  readonly min?: number;
  readonly max?: number;
}

/**
 * A JSON integer of 64 bits as `parseJsonExact` gives it: a number inside ±(2^53 - 1), a bigint beyond.
 *
 * @param bounds narrower bounds; default the whole range of an int64
 */
export function int64(bounds: Int64Bounds = {}): z.ZodType<number | bigint> {
  const { min, max } = bounds;
  const [low, high] = [
    min === undefined ? INT64_MIN : BigInt(min),
    max === undefined ? INT64_MAX : BigInt(max),
  ];
  return z
    .custom<number | bigint>(
      (value) =>
        (typeof value === 'bigint' || Number.isSafeInteger(value)) &&
        BigInt(value as number | bigint) >= low &&
        BigInt(value as number | bigint) <= high,
      { error: `must be an integer${describeBounds(bounds)}` },
    )
    .meta({
      type: 'integer',
      format: 'int64',
      ...(min === undefined ? {} : { minimum: min }),
      ...(max === undefined ? {} : { maximum: max }),
    });
}

function describeBounds({ min, max }: Int64Bounds): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return `, at least ${min}`;
  return ` from ${INT64_MIN} to ${INT64_MAX}`;
}
