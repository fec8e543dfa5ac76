/** The integer as a number where a number holds it exactly, else as it is. */
export function exactInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
