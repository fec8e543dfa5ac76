/** No state and no pattern. */
export const NONE = -1;
/** Up to this number of children, looking at each is faster than a binary search. */
const FEW_CHILDREN = 6;

/** The tables of a trie in breadth-first order: the children of a state are neighbours, sorted by their unit. */
export interface TrieTables {
  readonly firstChild: Int32Array;
  /** By state: the UTF-16 unit that leads to it. */
  readonly unit: Uint16Array;
  /** By state: the state of its longest proper suffix. */
  readonly suffix: Int32Array;
  readonly pattern: Int32Array;
  /** By state: the nearest suffix at which a pattern ends, or -1. */
  readonly nextPattern: Int32Array;
  /** By UTF-16 unit: the child of the root, or the root. */
  readonly fromRoot: Int32Array;
}

/**
 * Builds the trie of Aho and Corasick over UTF-16 units, level by level. The patterns below a state are a range of the sorted
 * patterns.
 *
 * @param patterns distinct and not empty
 *
 * Source: Aho, Corasick, "Efficient string matching: an aid to bibliographic search", 1975.
 */
export function buildTrie(patterns: readonly string[]): TrieTables {
  const sorted = patterns.map((_, index) => index);
  sorted.sort((left, right) => ((patterns[left] ?? '') < (patterns[right] ?? '') ? -1 : 1));
  const size = patterns.reduce((sum, { length }) => sum + length, 1);
  const [from, to, depth] = [new Int32Array(size), new Int32Array(size), new Int32Array(size)];
  const tables: TrieTables = {
    firstChild: new Int32Array(size + 1),
    unit: new Uint16Array(size),
    suffix: new Int32Array(size),
    pattern: new Int32Array(size).fill(NONE),
    nextPattern: new Int32Array(size).fill(NONE),
    fromRoot: new Int32Array(0x1_0000),
  };
  to[0] = sorted.length;
  let count = 1;
  for (let state = 0; state < count; state += 1) {
    tables.firstChild[state] = count;
    const at = depth[state] ?? 0;
    const end = to[state] ?? 0;
    // A pattern that ends at this state sorts before those that continue.
    let position = (from[state] ?? 0) + (tables.pattern[state] === NONE ? 0 : 1);
    while (position < end) {
      const unit = unitOf(patterns, sorted, position, at);
      const start = position;
      while (position < end && unitOf(patterns, sorted, position, at) === unit) position += 1;
      [from[count], to[count], depth[count]] = [start, position, at + 1];
      tables.unit[count] = unit;
      const first = sorted[start] ?? NONE;
      if (patterns[first]?.length === at + 1) tables.pattern[count] = first;
      link(tables, state, count, unit);
      count += 1;
    }
  }
  tables.firstChild[count] = count;
  return trim(tables, count);
}

/** Sets the suffix of a new child. The suffix of its parent is nearer to the root, so it has its children already. */
function link(tables: TrieTables, parent: number, child: number, unit: number): void {
  const { firstChild, unit: units, suffix, pattern, nextPattern, fromRoot } = tables;
  if (parent === 0) {
    fromRoot[unit] = child;
    return;
  }
  let state = suffix[parent] ?? 0;
  let found = NONE;
  while (state !== 0 && (found = childOf(firstChild, units, state, unit)) === NONE)
    state = suffix[state] ?? 0;
  const target = state === 0 ? (fromRoot[unit] ?? 0) : found;
  suffix[child] = target;
  nextPattern[child] = (pattern[target] ?? NONE) === NONE ? (nextPattern[target] ?? NONE) : target;
}

function unitOf(
  patterns: readonly string[],
  sorted: readonly number[],
  position: number,
  at: number,
): number {
  return patterns[sorted[position] ?? NONE]?.charCodeAt(at) ?? 0;
}

function trim(tables: TrieTables, count: number): TrieTables {
  return {
    firstChild: tables.firstChild.slice(0, count + 1),
    unit: tables.unit.slice(0, count),
    suffix: tables.suffix.slice(0, count),
    pattern: tables.pattern.slice(0, count),
    nextPattern: tables.nextPattern.slice(0, count),
    fromRoot: tables.fromRoot,
  };
}

function childOf(firstChild: Int32Array, unit: Uint16Array, state: number, wanted: number): number {
  let low = firstChild[state] ?? 0;
  let high = firstChild[state + 1] ?? 0;
  while (high - low > FEW_CHILDREN) {
    const middle = (low + high) >> 1;
    if ((unit[middle] ?? 0) <= wanted) low = middle;
    else high = middle;
  }
  for (; low < high; low += 1) if (unit[low] === wanted) return low;
  return NONE;
}
