import type { CheckInput } from './check-input.ts';
import type { Finding } from './finding.ts';
import type { Markup } from './find-markup.ts';

/** A source and its target, read once for all checks. */
export interface CheckTexts {
  readonly input: CheckInput;
  readonly source: Markup;
  readonly target: Markup;
}

/** One family of checks. It gives its findings one by one, so that the caller can stop at a bound. */
export type Check = (texts: CheckTexts) => Iterable<Finding>;

/**
 * The members that one list has more often than another, as a multiset.
 *
 * @returns those of `list` beyond the count in `other`, the last ones of a key
 */
export function surplus<Member>(
  list: readonly Member[],
  other: readonly Member[],
  keyOf: (member: Member) => string,
): Member[] {
  if (list.every((member, index) => isAt(other, index, keyOf(member), keyOf))) return [];
  const left = new Map<string, number>();
  for (const member of other) {
    const key = keyOf(member);
    left.set(key, (left.get(key) ?? 0) + 1);
  }
  const more: Member[] = [];
  for (const member of list) {
    const key = keyOf(member);
    const count = left.get(key) ?? 0;
    if (count > 0) left.set(key, count - 1);
    else more.push(member);
  }
  return more;
}

function isAt<Member>(
  list: readonly Member[],
  index: number,
  key: string,
  keyOf: (member: Member) => string,
): boolean {
  const member = list[index];
  return member !== undefined && keyOf(member) === key;
}
