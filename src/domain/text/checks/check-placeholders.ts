import { mismatches, type Check } from './check-texts.ts';
import { finding, shown, type Finding } from './finding.ts';
import type { Mark } from './find-markup.ts';

const NUMBERED = /^%\d+\$/;

/** `placeholder_mismatch` and `placeholder_order`. */
export const checkPlaceholders: Check = function* ({ source, target }) {
  const expected = source.marks.filter(isPlaceholder);
  const given = target.marks.filter(isPlaceholder);
  if (expected.length + given.length === 0) return;
  const texts = { source: source.text, target: target.text };
  const marks = { source: expected, target: given };
  let isSame = true;
  for (const each of mismatches('placeholder_mismatch', 'placeholder', marks, ({ start, end }, side) =>
    texts[side].slice(start, end),
  )) {
    isSame = false;
    yield each;
  }
  yield* unknownNames(expected, given);
  if (isSame) yield* changedOrder({ expected, given });
};

function isPlaceholder({ kind }: Mark): boolean {
  return kind === 'placeholder' || kind === 'printf';
}

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
