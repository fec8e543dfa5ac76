import type { CheckInput } from './check-input.ts';
import type { Check } from './check-texts.ts';
import { characterWidth } from './display-width.ts';
import { UTF_8 } from './field-encodings.ts';
import { finding, type Finding, type Span } from './finding.ts';
import { MASK, type Markup } from './find-markup.ts';
import { findLineBreaks } from './line-breaks.ts';

/** The limits of a field: bytes, characters, columns and lines. */
export const checkLimits: Check = function* ({ input, target }) {
  yield* checkLength(input, target);
  const { maxWidth = Infinity, maxLines = Infinity } = input;
  if (maxWidth === Infinity && maxLines === Infinity) return;
  const lines = linesOf(target);
  for (const line of lines) {
    const width = widthOf(target.masked, line);
    if (width <= maxWidth) continue;
    yield finding('too_wide', `a line is ${width} columns wide, the limit is ${maxWidth}`, { target: line });
  }
  const first = lines[maxLines];
  if (first === undefined) return;
  const message = `the target has ${lines.length} lines, the limit is ${maxLines}`;
  yield finding('too_many_lines', message, { target: { start: first.start, end: target.text.length } });
};

function* checkLength(input: CheckInput, { text }: Markup): Generator<Finding> {
  const { maxBytes = Infinity, maxCharacters = Infinity, encoding = UTF_8 } = input;
  if (maxBytes === Infinity && maxCharacters === Infinity) return;
  let bytes = 0;
  let characters = 0;
  let at = 0;
  /** The first position behind the last character that fits. */
  let bytesEnd: number | null = null;
  let charactersEnd: number | null = null;
  for (const character of text) {
    bytes += encoding.bytesOf(character.codePointAt(0) ?? 0) ?? 0;
    characters += 1;
    if (bytes > maxBytes) bytesEnd ??= at;
    if (characters > maxCharacters) charactersEnd ??= at;
    at += character.length;
  }
  if (bytesEnd !== null) {
    const message = `the target has ${bytes} bytes in ${encoding.name}, the limit is ${maxBytes}`;
    yield finding('too_many_bytes', message, { target: { start: bytesEnd, end: text.length } });
  }
  if (charactersEnd !== null) {
    const message = `the target has ${characters} characters, the limit is ${maxCharacters}`;
    yield finding('too_many_characters', message, { target: { start: charactersEnd, end: text.length } });
  }
}

function linesOf(markup: Markup): Span[] {
  const breaks: Span[] = [...findLineBreaks(markup), ...markup.marks.filter(({ name }) => name === 'br')];
  breaks.sort((left, right) => left.start - right.start);
  const starts = [0, ...breaks.map(({ end }) => end)];
  return starts.map((start, index) => ({ start, end: breaks[index]?.start ?? markup.text.length }));
}

function widthOf(masked: string, { start, end }: Span): number {
  let width = 0;
  for (const character of masked.slice(start, end)) {
    if (character !== MASK) width += characterWidth(character);
  }
  return width;
}
