import { FormatError } from '../format-error.ts';
import type { ReadLimits, ReportPartError, ValueVisitor } from '../value-visitor.ts';
import { byteOffsets, type DecodedText } from './decode-text.ts';

/** Receives the values of a file, the errors that cost one part of it, and its bounds. */
export interface ReadTarget {
  readonly visitor: ValueVisitor;
  readonly reportPartError: ReportPartError;
  readonly limits: ReadLimits;
}

export interface FoundText {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Reports a string to the visitor. A string that cannot be a text is a part error, and the visitor receives another
 * value in its place: `field_too_large` above the limit, `encoding_invalid` for half a surrogate pair, which no file in
 * UTF-8 can hold.
 *
 * @param pathOf the path to the string; called for an error only
 */
export function reportText(target: ReadTarget, found: FoundText, pathOf: () => string): void {
  const error = problemOf(found.value, target.limits.stringBytes);
  if (error === null) {
    target.visitor.text(found.value, found.start, found.end);
    return;
  }
  target.visitor.other();
  target.reportPartError(error, pathOf());
}

function problemOf(value: string, limit: number): FormatError | null {
  // A code unit has at most three bytes.
  if (value.length * 3 > limit && Buffer.byteLength(value) > limit) {
    const message = `a string of ${Buffer.byteLength(value)} bytes is longer than ${limit}`;
    return new FormatError('field_too_large', message);
  }
  if (!value.isWellFormed()) {
    return new FormatError('encoding_invalid', 'a string has half a surrogate pair');
  }
  return null;
}

/**
 * Reads plain text: the field `line`, an array of one text for each line, without its end. An empty line is an empty
 * text, so that an element's index is the number of its line from 0. An end of line at the end of the file does not
 * begin another line.
 *
 * @throws FormatError `container_limit_exceeded`
 */
export function readLines(decoded: DecodedText, target: ReadTarget): void {
  const { text } = decoded;
  const { visitor, limits } = target;
  visitor.field('line');
  visitor.beginArray();
  const lineEnds = /\r\n|\n|\r/g;
  let index = 0;
  for (let start = 0; start < text.length; index += 1) {
    if (index === limits.elements) {
      const message = `the text has more than ${limits.elements} lines`;
      throw new FormatError('container_limit_exceeded', message, byteOffsets(decoded)(start));
    }
    const match = lineEnds.exec(text);
    const end = match?.index ?? text.length;
    reportText(target, { value: text.slice(start, end), start, end }, () => `line[${index}]`);
    start = match === null ? text.length : lineEnds.lastIndex;
  }
  visitor.endArray();
}
