import { createPatternTest, type PatternPart } from '../../domain/text/character-pattern.ts';

const MAX_ALTERNATIVES = 256;
const SLASH = '/'.charCodeAt(0);
const FORBIDDEN_SEGMENTS = new Set(['', '.', '..']);

/** A character of a glob, or what a special character stands for. */
type Token =
  | { readonly kind: 'character'; readonly text: string }
  | { readonly kind: 'class'; readonly accepts: (character: number) => boolean }
  | { readonly kind: '?' | '*' | '{' | ',' | '}' };

/** A glob is malformed. The message completes "the glob ...". */
export class GlobError extends Error {
  override name = 'GlobError';
}

/**
 * Makes the test whether a path matches a glob. The time of a test is bounded by the product of both lengths, because
 * paths can come from upstream. Names that begin with a dot are not special. The syntax:
 *
 * - `*` any characters of one segment; `?` one character of a segment
 * - `**` as a whole segment: any number of segments, at the end at least one
 * - `[abc]`, `[a-z]` one of these characters; `[!abc]`, `[^abc]` one other character of a segment
 * - `{one,two}` one of these globs; braces may contain braces
 * - `\` takes away the meaning of the next character
 *
 * @throws GlobError when the glob is malformed
 */
export function createGlobTest(glob: string): (path: string) => boolean {
  const tests = expandBraces(readTokens(glob)).map((tokens) => createPatternTest(partsOf(tokens)));
  return (path) => tests.some((test) => test(path));
}

function readTokens(glob: string): Token[] {
  const symbols = Array.from(glob);
  const tokens: Token[] = [];
  let depth = 0;
  for (let index = 0; index < symbols.length; index += 1) {
    const symbol = symbols[index] ?? '';
    if (symbol === '\\') {
      index += 1;
      const text = symbols[index];
      if (text === undefined) throw new GlobError('must not end with a single "\\"');
      tokens.push({ kind: 'character', text });
    } else if (symbol === '[') {
      const { token, end } = readClass(symbols, index + 1);
      tokens.push(token);
      index = end;
    } else if (symbol === '?' || symbol === '*') {
      tokens.push({ kind: symbol });
    } else if (symbol === '{' || (symbol === '}' && depth > 0)) {
      depth += symbol === '{' ? 1 : -1;
      tokens.push({ kind: symbol });
    } else if (symbol === ',' && depth > 0) {
      tokens.push({ kind: ',' });
    } else if ('()]}|'.includes(symbol)) {
      throw new GlobError(
        `has a "${symbol}" without a meaning; write "\\${symbol}" for the character itself`,
      );
    } else {
      tokens.push({ kind: 'character', text: symbol });
    }
  }
  if (depth > 0) throw new GlobError('has a "{" without a "}"');
  return tokens;
}

function readClass(symbols: readonly string[], start: number): { token: Token; end: number } {
  const isNegated = symbols[start] === '!' || symbols[start] === '^';
  const ranges: (readonly [from: number, to: number])[] = [];
  let index = isNegated ? start + 1 : start;
  const readCharacter = (): number => {
    if (symbols[index] === '\\') index += 1;
    else if (symbols[index] === '[') throw new GlobError('has a "[" inside brackets; write "\\[" for it');
    const character = symbols[index]?.codePointAt(0);
    if (character === undefined) throw new GlobError('has a "[" without a "]"');
    if (character === SLASH) throw new GlobError('has a "/" inside brackets, which match within one segment');
    index += 1;
    return character;
  };
  while (symbols[index] !== ']') {
    const from = readCharacter();
    const isRange = symbols[index] === '-' && symbols[index + 1] !== ']';
    if (isRange) index += 1;
    const to = isRange ? readCharacter() : from;
    if (to < from) throw new GlobError('has a range in brackets whose end comes before its start');
    ranges.push([from, to]);
  }
  if (ranges.length === 0) throw new GlobError('has brackets without characters');
  const accepts = (character: number): boolean =>
    character !== SLASH && ranges.some(([from, to]) => character >= from && character <= to) !== isNegated;
  return { token: { kind: 'class', accepts }, end: index };
}

/** The globs without braces that a glob with balanced braces stands for. */
function expandBraces(tokens: readonly Token[]): Token[][] {
  const open = tokens.findIndex(({ kind }) => kind === '{');
  if (open === -1) return [[...tokens]];
  const choices: Token[][] = [[]];
  let depth = 1;
  let close = open + 1;
  for (; depth > 0; close += 1) {
    const token = tokens[close];
    if (token === undefined) throw new GlobError('has a "{" without a "}"');
    if (token.kind === '{') depth += 1;
    if (token.kind === '}') depth -= 1;
    if (token.kind === ',' && depth === 1) choices.push([]);
    else if (depth > 0) choices.at(-1)?.push(token);
  }
  if (choices.length === 1) throw new GlobError('has braces without a comma; write "\\{" for the character');
  const before = tokens.slice(0, open);
  const heads = choices.flatMap(expandBraces);
  const tails = expandBraces(tokens.slice(close));
  if (heads.length * tails.length > MAX_ALTERNATIVES)
    throw new GlobError(`has braces that stand for more than ${MAX_ALTERNATIVES} globs; use several globs`);
  return heads.flatMap((head) => tails.map((tail) => [...before, ...head, ...tail]));
}

function partsOf(tokens: readonly Token[]): PatternPart[] {
  const segments: Token[][] = [[]];
  for (const token of tokens) {
    if (token.kind === 'character' && token.text === '/') segments.push([]);
    else segments.at(-1)?.push(token);
  }
  return segments.flatMap((segment, index) => partsOfSegment(segment, index === segments.length - 1));
}

function partsOfSegment(segment: readonly Token[], isLast: boolean): PatternPart[] {
  const shown = segment.map((token) => (token.kind === 'character' ? token.text : token.kind)).join('');
  if (FORBIDDEN_SEGMENTS.has(shown))
    throw new GlobError(
      `has the segment "${shown}", which no path has; paths are relative and do not end with "/"`,
    );
  const one = (accepts: (character: number) => boolean): PatternPart => ({ kind: 'one', accepts });
  const anything: PatternPart = { kind: 'many', accepts: () => true };
  const slash: PatternPart = { kind: 'character', text: '/' };
  const stars = segment.filter(({ kind }) => kind === '*').length;
  if (stars === 2 && segment.length === 2)
    return isLast ? [one(() => true), anything] : [{ kind: 'optional', length: 2 }, anything, slash];
  const parts = segment.map((token, index): PatternPart => {
    if (token.kind === '*') {
      if (segment[index + 1]?.kind === '*')
        throw new GlobError('has a "**" beside other characters; it must be a whole segment, as in **/*.zip');
      return { kind: 'many', accepts: isInSegment };
    }
    if (token.kind === 'class') return one(token.accepts);
    return token.kind === 'character' ? token : one(isInSegment);
  });
  return isLast ? parts : [...parts, slash];
}

function isInSegment(character: number): boolean {
  return character !== SLASH;
}
