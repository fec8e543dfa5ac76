/** A part of a pattern. Characters are Unicode code points. */
export type PatternPart =
  | { readonly kind: 'character'; readonly text: string }
  | { readonly kind: 'one'; readonly accepts: (character: number) => boolean }
  | { readonly kind: 'many'; readonly accepts: (character: number) => boolean }
  /** The next `length` parts match together, or match nothing. */
  | { readonly kind: 'optional'; readonly length: number };

/** Parts that match exactly a text. */
export function literalParts(text: string): PatternPart[] {
  return Array.from(text, (character) => ({ kind: 'character', text: character }));
}

/**
 * Makes the test whether a whole text matches a pattern. The test follows all ways to match side by side (Thompson's
 * construction), so it takes at most as many steps as the text has characters times the pattern has parts. A regular
 * expression tries the ways one after another, and their number can grow exponentially with the length of the text.
 */
export function createPatternTest(parts: readonly PatternPart[]): (text: string) => boolean {
  const required = longestLiteral(parts);
  const steps = parts.map(stepOf);
  const end = steps.length;
  /** The number of the character at which a position was last reached; characters are counted over all texts. */
  const reachedAt = new Float64Array(end + 1);
  let count = 0;
  let positions: number[] = [];
  let next: number[] = [];
  const reach = (position: number): void => {
    if (reachedAt[position] === count) return;
    reachedAt[position] = count;
    next.push(position);
  };
  const reachWithoutCharacter = (): void => {
    // The loop also visits the positions that it adds.
    for (const position of next) {
      const step = steps[position];
      if (step === undefined) continue;
      if (step.repeats || step.skips > 0) reach(position + 1);
      if (step.skips > 0) reach(position + 1 + step.skips);
    }
  };
  return (text) => {
    // Most texts do not match, and this finds most of them.
    if (!text.includes(required)) return false;
    count += 1;
    next.length = 0;
    reach(0);
    reachWithoutCharacter();
    for (let index = 0; index < text.length && next.length > 0; index += 1) {
      const character = text.codePointAt(index) ?? 0;
      if (character > 0xffff) index += 1;
      count += 1;
      [positions, next] = [next, positions];
      next.length = 0;
      for (const position of positions) {
        const step = steps[position];
        if (step?.accepts(character) === true) reach(step.repeats ? position : position + 1);
      }
      reachWithoutCharacter();
    }
    return reachedAt[end] === count;
  };
}

interface Step {
  readonly accepts: (character: number) => boolean;
  readonly repeats: boolean;
  readonly skips: number;
}

function stepOf(part: PatternPart): Step {
  if (part.kind === 'optional') return { accepts: () => false, repeats: false, skips: part.length };
  if (part.kind !== 'character') return { accepts: part.accepts, repeats: part.kind === 'many', skips: 0 };
  const expected = part.text.codePointAt(0);
  return { accepts: (character) => character === expected, repeats: false, skips: 0 };
}

/** The longest text that every matching text contains because the pattern spells it. */
function longestLiteral(parts: readonly PatternPart[]): string {
  let longest = '';
  let literal = '';
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index];
    literal = part?.kind === 'character' ? literal + part.text : '';
    if (literal.length > longest.length) longest = literal;
    if (part?.kind === 'optional') index += part.length;
  }
  return longest;
}
