import { normalText } from '../normal-text.ts';
import { finding, shown, type Finding } from './finding.ts';

interface TranslatedUnit {
  readonly unit_id: string;
  readonly source: string;
  readonly target: string;
}

interface InconsistentUnit {
  readonly unit_id: string;
  readonly finding: Finding;
}

/**
 * Finds units with one source text and different targets. Equal texts differ at most in line ends and composed
 * characters (N1).
 *
 * @param units units of one source stand together, as a database orders them by source; one group is held in memory
 * @returns the units whose target is not the most frequent one; of two equally frequent ones, the first
 */
export function* findInconsistentTargets(units: Iterable<TranslatedUnit>): Generator<InconsistentUnit> {
  let group: TranslatedUnit[] = [];
  let source: string | null = null;
  for (const unit of units) {
    const text = normalText(unit.source);
    if (text !== source) {
      yield* inconsistentIn(group);
      group = [];
      source = text;
    }
    group.push(unit);
  }
  yield* inconsistentIn(group);
}

function* inconsistentIn(group: readonly TranslatedUnit[]): Generator<InconsistentUnit> {
  const counts = new Map<string, number>();
  for (const { target } of group) {
    const text = normalText(target);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  if (counts.size < 2) return;
  const [usual, count] = [...counts].reduce((best, next) => (next[1] > best[1] ? next : best));
  for (const { unit_id, target } of group) {
    if (normalText(target) === usual) continue;
    const message = `the target ${shown(usual)} stands for the same source ${count === 1 ? 'once' : `${count} times`}`;
    yield { unit_id, finding: finding('inconsistent_target', message) };
  }
}
