/**
 * A number of things in words.
 *
 * @param noun in the singular, one that only takes an `s` in the plural
 * @returns such as `1 unit` and `20 units`
 */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
