import type { CheckInput } from './check-input.ts';
import type { CheckName } from './check-table.ts';
import { finding, shown, type Finding, type Span } from './finding.ts';
import type { Markup } from './find-markup.ts';

export interface CheckTexts {
  readonly input: CheckInput;
  readonly source: Markup;
  readonly target: Markup;
}

/** One family of checks. It gives its findings one by one, so that the caller can stop at a bound. */
export type Check = (texts: CheckTexts) => Iterable<Finding>;

interface Keyed extends Span {
  readonly key: string;
}

/**
 * Compares what the source and the target have of one kind, as multisets.
 *
 * @returns a finding for each member that is missing on one side; the generator makes each finding on demand
 */
export function* mismatches<Member extends Keyed>(
  check: CheckName,
  what: string,
  members: { readonly source: readonly Member[]; readonly target: readonly Member[] },
  textOf: (member: Member, side: 'source' | 'target') => string,
): Generator<Finding> {
  const { source, target } = members;
  for (const member of surplus(source, target, keyOf)) {
    yield finding(check, `the target lacks the ${what} ${shown(textOf(member, 'source'))}`, {
      source: member,
    });
  }
  for (const member of surplus(target, source, keyOf)) {
    yield finding(check, `the source lacks the ${what} ${shown(textOf(member, 'target'))}`, {
      target: member,
    });
  }
}

function keyOf({ key }: Keyed): string {
  return key;
}

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
  const known = other.map(keyOf);
  if (list.every((member, index) => known[index] === keyOf(member))) return [];
  const left = new Map<string, number>();
  for (const key of known) left.set(key, (left.get(key) ?? 0) + 1);
  return list.filter((member) => {
    const key = keyOf(member);
    const count = left.get(key) ?? 0;
    if (count > 0) left.set(key, count - 1);
    return count === 0;
  });
}
