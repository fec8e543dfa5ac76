/** A 64-bit integer as JSON has it exactly: a number inside ±(2^53 - 1), a bigint beyond. */
export function int64Value(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
