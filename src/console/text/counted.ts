import { count } from './format.ts';

/** A number with its noun, such as `1 unit` and `2 units`. @param many the noun of all numbers but one */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
