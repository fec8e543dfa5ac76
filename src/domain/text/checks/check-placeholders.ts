import { surplus, type Check } from './check-texts.ts';
import { finding, shown, type Finding } from './finding.ts';
import type { Mark } from './find-markup.ts';

const NUMBERED = /^%\d+\$/;

/** `placeholder_mismatch` and `placeholder_order`. */
export const checkPlaceholders: Check = function* ({ source, target }) {
  const expected = source.marks.filter(isPlaceholder);
  const given = target.marks.filter(isPlaceholder);
  if (expected.length + given.length === 0) return;
  const missing = surplus(expected, given, keyOf);
  const extra = surplus(given, expected, keyOf);
  for (const mark of missing) {
    const message = `the target lacks the placeholder ${shown(source.text.slice(mark.start, mark.end))}`;
    yield finding('placeholder_mismatch', message, { source: mark });
  }
  for (const mark of extra) {
    const message = `the source lacks the placeholder ${shown(target.text.slice(mark.start, mark.end))}`;
    yield finding('placeholder_mismatch', message, { target: mark });
  }
  yield* unknownNames(expected, given);
  if (missing.length + extra.length === 0) yield* changedOrder({ expected, given });
};

function isPlaceholder({ kind }: Mark): boolean {
  return kind === 'placeholder' || kind === 'printf';
}

function keyOf({ key }: Mark): string {
  return key;
}

/** Names in the alternatives of a plural or a choice that the source does not have. */
function* unknownNames(expected: readonly Mark[], given: readonly Mark[]): Generator<Finding> {
  const known = new Set(expected.flatMap(({ key, inner }) => [...inner, NAME_IN_KEY.exec(key)?.[1] ?? '']));
  for (const mark of given) {
    for (const name of mark.inner) {
      if (known.has(name)) continue;
      const message = `the source lacks the name ${shown(name)}, which an alternative of the target uses`;
      yield finding('placeholder_mismatch', message, { target: mark });
    }
  }
}

const NAME_IN_KEY = /^[$#]?\{([\w.[\]]+)/;

function* changedOrder(marks: { expected: readonly Mark[]; given: readonly Mark[] }): Generator<Finding> {
  const before = marks.expected.filter(isInOrder);
  const after = marks.given.filter(isInOrder);
  const at = before.findIndex(({ key }, index) => after[index]?.key !== key);
  const [source, target] = [before[at], after[at]];
  if (source === undefined || target === undefined) return;
  const message = `the directive ${shown(target.key)} stands where the source has ${shown(source.key)}`;
  yield finding('placeholder_order', message, { source, target });
}

function isInOrder({ kind, key }: Mark): boolean {
  return kind === 'printf' && !NUMBERED.test(key);
}
