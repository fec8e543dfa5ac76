import { createPatternTest, literalParts, type PatternPart } from '../text/character-pattern.ts';

/** The facts about a text that scopes are compared with, such as its speaker. */
export type TermContext = Readonly<Record<string, string>>;

/** The key of a scope that is an option: the value `substring` switches the boundaries of words off. */
export const MATCH_KEY = 'match';
/** The only value of {@link MATCH_KEY}. */
export const MATCH_SUBSTRING = 'substring';

/** Where a term is valid. */
export interface CompiledScope {
  /** Whether the term also matches inside of words. */
  readonly matchesInsideWords: boolean;
  readonly keys: readonly string[];
  accepts(context: TermContext): boolean;
}

/** The scope as text: equal for equal scopes, whatever the order of their keys. */
export function canonicalScope(scope: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(scope).sort(([left], [right]) => (left < right ? -1 : 1)));
}

const SLASH = '/'.codePointAt(0) ?? 0;

/**
 * Compiles a scope. A value with a `/` or `*` is a glob: `*` stands for any characters but `/`, `**` for any characters,
 * `?` for one character but `/`. Any other value must be equal.
 */
export function compileScope(scope: Readonly<Record<string, string>>): CompiledScope {
  const entries = Object.entries(scope).filter(([key]) => key !== MATCH_KEY);
  const tests = entries.map(([key, value]) => ({ key, test: createValueTest(value) }));
  return {
    matchesInsideWords: scope[MATCH_KEY] === MATCH_SUBSTRING,
    keys: entries.map(([key]) => key).sort(),
    accepts: (context) =>
      tests.every(({ key, test }) => {
        const value = Object.hasOwn(context, key) ? context[key] : undefined;
        return value !== undefined && test(value);
      }),
  };
}

function createValueTest(expected: string): (value: string) => boolean {
  if (!/[/*]/.test(expected)) return (value) => value === expected;
  return createPatternTest(expected.split(/(\*\*|[*?])/).flatMap(partsOf));
}

function partsOf(text: string): PatternPart[] {
  const inSegment = (character: number): boolean => character !== SLASH;
  if (text === '**') return [{ kind: 'many', accepts: () => true }];
  if (text === '*') return [{ kind: 'many', accepts: inSegment }];
  return text === '?' ? [{ kind: 'one', accepts: inSegment }] : literalParts(text);
}
