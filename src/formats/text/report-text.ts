import { FormatError } from '../format-error.ts';
import type { ReadLimits, ReportPartError, ValueVisitor } from '../value-visitor.ts';

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
