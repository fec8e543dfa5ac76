export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type RangeSelection =
  /** Answer as if there were no `Range` field. */
  | { readonly kind: 'ignore' }
  /** Well-formed, but no byte of the representation lies inside. */
  | { readonly kind: 'unsatisfiable' }
  /** At least one range, none empty, none overlapping or touching another, in the order in which they were asked for. */
  | { readonly kind: 'ranges'; readonly ranges: readonly ByteRange[] };

/** Maximum number of range specs of one field; a field with more is ignored, which bounds the work and the number of parts. */
export const RANGE_MAX_SPECS = 200;

const IGNORE: RangeSelection = { kind: 'ignore' };
const UNSATISFIABLE: RangeSelection = { kind: 'unsatisfiable' };
const SPEC = /^([0-9]*)-([0-9]*)$/;
const UNIT = /^bytes=/i;
// More characters than any position that fits in 2^53 - 1 has digits.
const SAFE_DIGITS = 15;

/**
 * Reads a `Range` field value.
 *
 * Another unit than `bytes`, any malformed spec, more than {@link RANGE_MAX_SPECS} specs and a representation without
 * bytes make the whole field void. Positions may have any number of digits. Ranges are clipped to the representation;
 * specs that lie outside it are dropped; those that overlap or touch become one at the place of the first of them. Several
 * ranges that add up to more bytes than the representation also make the field void: the whole is the shorter answer.
 *
 * @param value the field value; several fields joined by a comma are malformed, since the unit is repeated
 * @param size bytes of the representation, 0 to 2^53 - 1
 *
 * Source: RFC 9110, sections 14.1, 14.2, 15.3.7.2 and 17.15; list syntax in section 5.6.1.
 */
export function parseRange(value: string, size: number): RangeSelection {
  if (size === 0 || !UNIT.test(value)) return IGNORE;
  const specs = splitList(value.slice('bytes='.length));
  if (specs === null || specs.length === 0) return IGNORE;
  const ranges: ByteRange[] = [];
  for (const spec of specs) {
    const range = parseSpec(spec, size);
    if (range === 'malformed') return IGNORE;
    if (range !== 'outside') ranges.push(range);
  }
  if (ranges.length === 0) return UNSATISFIABLE;
  if (ranges.length === 1) return { kind: 'ranges', ranges };
  const wanted = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  return wanted > size ? IGNORE : { kind: 'ranges', ranges: mergeRanges(ranges) };
}

function mergeRanges(ranges: readonly ByteRange[]): readonly ByteRange[] {
  const byStart = ranges
    .map((range, place) => ({ ...range, place }))
    .sort((left, right) => left.start - right.start);
  const merged: { start: number; end: number; place: number }[] = [];
  for (const range of byStart) {
    const last = merged.at(-1);
    if (last === undefined || range.start > last.end) {
      merged.push(range);
      continue;
    }
    last.end = Math.max(last.end, range.end);
    last.place = Math.min(last.place, range.place);
  }
  return merged
    .sort((left, right) => left.place - right.place)
    .map(({ start, end }): ByteRange => ({ start, end }));
}

/** The elements of a list without the empty ones that RFC 9110 section 5.6.1.2 tolerates; `null` when there are too many. */
function splitList(text: string): readonly string[] | null {
  // Twice the bound leaves room for empty elements, and keeps a field full of commas from being looked at piece by piece.
  const elements = text.split(',', 2 * RANGE_MAX_SPECS + 1);
  if (elements.length > 2 * RANGE_MAX_SPECS) return null;
  const specs = elements.map(trimOptionalWhitespace).filter((element) => element !== '');
  return specs.length > RANGE_MAX_SPECS ? null : specs;
}

function trimOptionalWhitespace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isOptionalWhitespace(text.charCodeAt(start))) start += 1;
  while (end > start && isOptionalWhitespace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isOptionalWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function parseSpec(spec: string, size: number): ByteRange | 'malformed' | 'outside' {
  const match = SPEC.exec(spec);
  if (match === null) return 'malformed';
  const [, first = '', last = ''] = match;
  if (first === '') {
    if (last === '') return 'malformed';
    const length = Math.min(position(last), size);
    return length === 0 ? 'outside' : { start: size - length, end: size };
  }
  if (last !== '' && comparePositions(first, last) > 0) return 'malformed';
  const start = position(first);
  if (start >= size) return 'outside';
  return { start, end: last === '' ? size : Math.min(position(last) + 1, size) };
}

/** The value of a run of digits; every value beyond 2^53 - 1 counts as infinite, since no representation is that long. */
function position(digits: string): number {
  if (digits.length <= SAFE_DIGITS) return Number(digits);
  const significant = withoutLeadingZeros(digits);
  const value = Number(significant);
  return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
}

function comparePositions(left: string, right: string): number {
  const a = withoutLeadingZeros(left);
  const b = withoutLeadingZeros(right);
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function withoutLeadingZeros(digits: string): string {
  let start = 0;
  while (start < digits.length - 1 && digits.charCodeAt(start) === 0x30) start += 1;
  return digits.slice(start);
}
