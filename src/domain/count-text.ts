/**
 * A number of things in words.
 *
 * @param one the noun of exactly one thing; it can take a verb along, such as `unit has`
 * @returns such as `1 unit` and `20 units`
 */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
