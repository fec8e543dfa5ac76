import { isDeepStrictEqual } from 'node:util';
import { parseJsonExact } from '../../../contract/json/json-exact.ts';
import { memberOf } from './member-of.ts';
import { ProviderError } from './provider-failure.ts';

const MAX_DEPTH = 12;
/** Objects and lists of one text that are looked at: some models write one for each row. */
const MOST_VALUES = 1000;
/** How often each character of a text is looked at, on average. */
const MOST_PASSES = 8;

/**
 * Finds the rows in the text of a model's answer, whatever is around them: reasoning, code fences, remarks, a comma too many, an object
 * around the rows, rows with an `id`, or several objects. A row that is there twice and differs is left out.
 *
 * @param ids of the rows that were asked for
 * @returns the values of the rows by id
 * @throws ProviderError `answer_malformed` when the text has no JSON object or list
 */
export function findRows(content: string, ids: readonly string[]): ReadonlyMap<string, unknown> {
  const values = valuesIn(withoutReasoning(content));
  if (values.length === 0) {
    throw new ProviderError('answer_malformed', 'the answer has no JSON object that can be read');
  }
  const wanted = new Set(ids);
  const rows = new Map<string, unknown>();
  const unclear = new Set<string>();
  for (const value of values) {
    for (const [id, row] of rowsOf(value, wanted)) {
      if (rows.has(id) && !isDeepStrictEqual(rows.get(id), row)) unclear.add(id);
      rows.set(id, row);
    }
  }
  for (const id of unclear) rows.delete(id);
  return rows;
}

const REASONING_TAG = /<(\/?)(think|thinking|thought|reasoning)>/gi;

/** A text without its reasoning, in one pass. The server may have cut off the beginning of a reasoning. */
function withoutReasoning(content: string): string {
  let kept: string[] = [];
  let from = 0;
  let open: { readonly name: string; readonly at: number } | null = null;
  for (const { 0: tag, 1: slash, 2: name = '', index } of content.matchAll(REASONING_TAG)) {
    const isEnd = slash === '/';
    if (!isEnd) open ??= { name: name.toLowerCase(), at: index };
    else if (open === null) {
      kept = [];
      from = index + tag.length;
    } else if (open.name === name.toLowerCase()) {
      kept.push(content.slice(from, open.at));
      from = index + tag.length;
      open = null;
    }
  }
  return [...kept, content.slice(from)].join('');
}

/** The rows of a value: itself with its `id`, its members, or the same one level deeper. */
function rowsOf(value: unknown, wanted: ReadonlySet<string>, depth = 0): (readonly [string, unknown])[] {
  if (depth > 3 || typeof value !== 'object' || value === null) return [];
  const id = memberOf(value, 'id');
  if (typeof id === 'string' && wanted.has(id)) return [[id, value]];
  const own = Array.isArray(value) ? [] : Object.entries(value).filter(([name]) => wanted.has(name));
  if (own.length > 0) return own;
  return Object.values(value).flatMap((inner: unknown) => rowsOf(inner, wanted, depth + 1));
}

/** The objects and lists of a text that can be parsed, in their order. One inside of another is part of it. */
function valuesIn(text: string): unknown[] {
  const values: unknown[] = [];
  const start = /[[{]/g;
  let scanned = 0;
  let left = MOST_PASSES * text.length;
  for (let match = start.exec(text); match !== null; match = start.exec(text)) {
    if (scanned === MOST_VALUES || left <= 0) break;
    scanned += 1;
    const end = endOfValue(text, match.index);
    left -= (end ?? text.length) - match.index;
    if (end === null) continue;
    const value = parsedLoosely(text.slice(match.index, end));
    if (value === undefined) continue;
    values.push(value);
    start.lastIndex = end;
  }
  return values;
}

/** Where the object or list that begins at a place ends; `null` when it does not. */
function endOfValue(text: string, start: number): number | null {
  const token = /["[\]{}]/g;
  token.lastIndex = start;
  let depth = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '"') {
      const end = endOfString(text, match.index);
      if (end === null) return null;
      token.lastIndex = end;
      continue;
    }
    depth += match[0] === '{' || match[0] === '[' ? 1 : -1;
    if (depth === 0) return match.index + 1;
  }
  return null;
}

function endOfString(text: string, start: number): number | null {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return null;
}

/** Parses JSON strictly, and then without commas before a closing bracket. `undefined` when neither can be parsed. */
function parsedLoosely(text: string): unknown {
  for (const attempt of [text, withoutLastCommas(text)]) {
    try {
      return parseJsonExact(attempt, { strict: true, maxDepth: MAX_DEPTH });
    } catch {
      // The next attempt, or the next bracket of the text.
    }
  }
  return undefined;
}

/** Strings stay as they are. */
function withoutLastCommas(text: string): string {
  return text.replaceAll(
    /("(?:\\.|[^"\\])*")|,(?=\s*[\]}])/g,
    (_match, string: string | undefined) => string ?? '',
  );
}
