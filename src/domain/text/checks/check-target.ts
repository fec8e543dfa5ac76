import { checkCharacters, checkCharset } from './check-characters.ts';
import { checkBrackets, checkEnd, checkRatio, checkRepeats, checkWhitespace } from './check-form.ts';
import type { CheckInput } from './check-input.ts';
import { checkKana } from './check-language.ts';
import { checkLimits } from './check-limits.ts';
import { checkNumbers } from './check-numbers.ts';
import { checkPlaceholders } from './check-placeholders.ts';
import { checkRuby } from './check-ruby.ts';
import type { CheckName } from './check-table.ts';
import { checkTags } from './check-tags.ts';
import type { Check } from './check-texts.ts';
import { finding, type Finding } from './finding.ts';
import { closedSquareNames, findMarkup } from './find-markup.ts';
import { checkLineBreaks } from './line-breaks.ts';

/** Findings of one check on one target. The first ones are enough to correct it, and reports stay short. */
const MAX_FINDINGS = 20;

const FAMILIES: readonly Check[] = [
  checkPlaceholders,
  checkTags,
  checkRuby,
  checkCharacters,
  checkCharset,
  checkLimits,
  checkLineBreaks,
  checkNumbers,
  checkKana,
  checkBrackets,
  checkRepeats,
  checkRatio,
  checkWhitespace,
  checkEnd,
];

/**
 * Checks a target against its source and the constraints of its field. It takes any texts, also ill-formed ones, and time
 * linear in their lengths. A blank target has the one finding `empty_target`.
 *
 * @returns at most 20 findings of each check
 */
export function checkTarget(input: CheckInput): Finding[] {
  if (input.target.trim() === '' && input.source.trim() !== '') {
    return [finding('empty_target', 'the target is empty or blank')];
  }
  const texts = { input, ...markupOf(input) };
  const counts = new Map<CheckName, number>();
  const findings: Finding[] = [];
  for (const family of FAMILIES) {
    for (const found of family(texts)) {
      const count = (counts.get(found.check) ?? 0) + 1;
      counts.set(found.check, count);
      if (count <= MAX_FINDINGS) findings.push(found);
    }
  }
  return findings;
}

function markupOf(input: CheckInput) {
  const options = {
    tags: input.tagGrammar !== 'none',
    // A tag that one side does not close is still the tag of the other side.
    squareNames: new Set([...closedSquareNames(input.source), ...closedSquareNames(input.target)]),
    findPlaceholders: input.findPlaceholders,
  };
  return { source: findMarkup(input.source, options), target: findMarkup(input.target, options) };
}
