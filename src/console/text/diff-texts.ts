/**
 * The difference of two texts, character by character; pure. Placeholders and tags count as one character.
 *
 * Source: E. W. Myers, An O(ND) Difference Algorithm and Its Variations, 1986.
 */

import { tokensOf } from './text-tokens.ts';

/** A part of the difference. A removed part precedes the added one. */
export interface DiffPart {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Most edits that are searched for among the units of two texts; beyond them they are compared in larger units. */
const MAX_EDITS = 500;
/** Longest texts that are compared by characters, and by words, in sum, UTF-16 code units. */
const MAX_CHARACTERS = 24_000;
const MAX_WORDS = 400_000;

const GRAPHEMES = new Intl.Segmenter('und', { granularity: 'grapheme' });
const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}_]+|\s+|[^]/gu;

/** Compares two texts. The parts without `added` are `before`, those without `removed` are `after`. */
export function diffTexts(before: string, after: string): readonly DiffPart[] {
  if (before === after) return before === '' ? [] : [{ kind: 'same', text: before }];
  const length = before.length + after.length;
  const parts =
    (length <= MAX_CHARACTERS ? diffUnits(charactersOf(before), charactersOf(after)) : null) ??
    (length <= MAX_WORDS ? diffUnits(wordsOf(before), wordsOf(after)) : null) ??
    diffEnds(before, after);
  return withoutCrumbs(joined(parts));
}

function charactersOf(text: string): string[] {
  return tokensOf(text).flatMap(({ kind, start, end }) => {
    const part = text.slice(start, end);
    return kind === 'text' ? Array.from(GRAPHEMES.segment(part), ({ segment }) => segment) : part;
  });
}

function wordsOf(text: string): string[] {
  return text.match(WORD) ?? [];
}

function diffEnds(before: string, after: string): DiffPart[] {
  const [left, right] = [Array.from(before), Array.from(after)];
  const head = equalBegin(left, right);
  const [restLeft, restRight] = [left.slice(head), right.slice(head)];
  const tail = equalBegin(restLeft.toReversed(), restRight.toReversed());
  return [
    { kind: 'same', text: left.slice(0, head).join('') },
    { kind: 'removed', text: restLeft.slice(0, restLeft.length - tail).join('') },
    { kind: 'added', text: restRight.slice(0, restRight.length - tail).join('') },
    { kind: 'same', text: restLeft.slice(restLeft.length - tail).join('') },
  ];
}

function equalBegin(left: readonly string[], right: readonly string[]): number {
  let at = 0;
  while (at < left.length && at < right.length && left[at] === right[at]) at += 1;
  return at;
}

function diffUnits(before: readonly string[], after: readonly string[]): DiffPart[] | null {
  const head = equalBegin(before, after);
  const restBefore = before.slice(head);
  const restAfter = after.slice(head);
  const tail = equalBegin(restBefore.toReversed(), restAfter.toReversed());
  const left = restBefore.slice(0, restBefore.length - tail);
  const right = restAfter.slice(0, restAfter.length - tail);
  const reached = searchWay(left, right);
  if (reached === null) return null;
  const same = (units: readonly string[]): DiffPart[] => units.map((text) => ({ kind: 'same', text }));
  return [
    ...same(before.slice(0, head)),
    ...readWay(left, right, reached),
    ...same(before.slice(before.length - tail)),
  ];
}

function searchWay(left: readonly string[], right: readonly string[]): readonly Int32Array[] | null {
  const rows: Int32Array[] = [];
  const most = Math.min(MAX_EDITS, left.length + right.length);
  for (let edits = 0; edits <= most; edits += 1) {
    const row = new Int32Array(edits + 1);
    const last = rows.at(-1);
    rows.push(row);
    for (let index = 0; index <= edits; index += 1) {
      const diagonal = 2 * index - edits;
      let x = last === undefined ? 0 : stepFrom(last, index).x;
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x += 1;
      row[index] = x;
      if (x >= left.length && x - diagonal >= right.length) return rows;
    }
  }
  return null;
}

function stepFrom(last: Int32Array, index: number): { readonly x: number; readonly isAdded: boolean } {
  const byAdding = last[index] ?? -1;
  const byRemoving = (last[index - 1] ?? -2) + 1;
  return byRemoving > byAdding || index === last.length
    ? { x: byRemoving, isAdded: false }
    : { x: byAdding, isAdded: true };
}

function readWay(left: readonly string[], right: readonly string[], rows: readonly Int32Array[]): DiffPart[] {
  const parts: DiffPart[] = [];
  let x = left.length;
  let y = right.length;
  for (let edits = rows.length - 1; edits > 0; edits -= 1) {
    const index = (x - y + edits) / 2;
    const step = stepFrom(rows[edits - 1] ?? new Int32Array(), index);
    const diagonal = x - y;
    while (x > step.x) {
      x -= 1;
      parts.push({ kind: 'same', text: left[x] ?? '' });
    }
    y = x - diagonal;
    if (step.isAdded) {
      y -= 1;
      parts.push({ kind: 'added', text: right[y] ?? '' });
    } else {
      x -= 1;
      parts.push({ kind: 'removed', text: left[x] ?? '' });
    }
  }
  while (x > 0) {
    x -= 1;
    parts.push({ kind: 'same', text: left[x] ?? '' });
  }
  return parts.toReversed();
}

function joined(parts: readonly DiffPart[]): DiffPart[] {
  const found: DiffPart[] = [];
  const edits: { removed: string[]; added: string[] } = { removed: [], added: [] };
  let same: string[] = [];
  const flush = (kind: DiffPart['kind'], texts: string[]): void => {
    const text = texts.join('');
    if (text !== '') found.push({ kind, text });
    texts.length = 0;
  };
  for (const { kind, text } of parts) {
    if (kind === 'same') {
      flush('removed', edits.removed);
      flush('added', edits.added);
      same.push(text);
    } else {
      flush('same', same);
      edits[kind].push(text);
    }
  }
  flush('same', same);
  same = [];
  flush('removed', edits.removed);
  flush('added', edits.added);
  return found;
}

function withoutCrumbs(parts: readonly DiffPart[]): readonly DiffPart[] {
  const weight = (at: number, step: 1 | -1): number => {
    let most = 0;
    for (let next = at + step; parts[next] !== undefined && parts[next]?.kind !== 'same'; next += step) {
      most = Math.max(most, parts[next]?.text.length ?? 0);
    }
    return most;
  };
  const isCrumb = ({ kind, text }: DiffPart, at: number): boolean =>
    kind === 'same' &&
    at > 0 &&
    at < parts.length - 1 &&
    text.length < Math.min(weight(at, -1), weight(at, 1));
  if (!parts.some(isCrumb)) return parts;
  return joined(
    parts.flatMap((part, at) =>
      isCrumb(part, at)
        ? ([
            { kind: 'removed', text: part.text },
            { kind: 'added', text: part.text },
          ] as const)
        : part,
    ),
  );
}
