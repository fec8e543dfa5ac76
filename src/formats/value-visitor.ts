import type { FormatError } from './format-error.ts';

/**
 * Receives the values of a file in their order. Every format reader reports to it, so that the rules on paths, row keys
 * and translatable text exist once.
 *
 * The value that follows {@link field} belongs to that field of the innermost object. Every value directly inside an
 * array is its next element. A reader may leave out fields and whole arrays that hold neither texts nor integers.
 */
export interface ValueVisitor {
  beginObject(): void;
  endObject(): void;
  beginArray(): void;
  endArray(): void;
  field(name: string): void;
  /** Names the next element of the innermost array, where the format has a better name than its index (a row id). */
  element(name: string): void;
  /**
   * A string.
   *
   * @param start position of its encoded form, quotes and length prefix included: in bytes for binary formats, in
   *   UTF-16 code units of the decoded text for text formats
   * @param end position behind its encoded form
   */
  text(value: string, start: number, end: number): void;
  /**
   * Bytes that are not text: a BLOB, a vector of bytes, or a string that is not valid UTF-8. A rule can name the format
   * of a file inside them.
   *
   * @param start position of their encoded form in bytes, length prefix included
   */
  bytes(value: Uint8Array, start: number, end: number): void;
  /**
   * An integer; one of them can be the key of a row. A `bigint` beyond 2^53. Text formats say where it is, in UTF-16 code
   * units.
   */
  integer(value: number | bigint, start?: number, end?: number): void;
  /**
   * A string that names things and is no text: the key of a row, a speaker or a scene. It counts as a value, and has no place.
   */
  label(value: string): void;
  /** Any other value. It counts as an element of an array. */
  other(): void;
}

/** A visitor that ignores all events but some. */
export function visitorOf(handled: Partial<ValueVisitor>): ValueVisitor {
  const ignore = (): void => undefined;
  return {
    beginObject: ignore,
    endObject: ignore,
    beginArray: ignore,
    endArray: ignore,
    field: ignore,
    element: ignore,
    text: ignore,
    bytes: ignore,
    integer: ignore,
    label: ignore,
    other: ignore,
    ...handled,
  };
}

/** A visitor that forwards all events but some. */
export function forwardingVisitor(visitor: ValueVisitor, changed: Partial<ValueVisitor>): ValueVisitor {
  return {
    beginObject: visitor.beginObject.bind(visitor),
    endObject: visitor.endObject.bind(visitor),
    beginArray: visitor.beginArray.bind(visitor),
    endArray: visitor.endArray.bind(visitor),
    field: visitor.field.bind(visitor),
    element: visitor.element.bind(visitor),
    text: visitor.text.bind(visitor),
    bytes: visitor.bytes.bind(visitor),
    integer: visitor.integer.bind(visitor),
    label: visitor.label.bind(visitor),
    other: visitor.other.bind(visitor),
    ...changed,
  };
}

export interface ReadLimits {
  /** Bytes of one string; a longer one is `field_too_large`. */
  readonly stringBytes: number;
  /** Levels of objects and arrays; a deeper one is `nesting_too_deep`. */
  readonly depth: number;
  /** Elements of one array, entries of one archive, rows of one table. */
  readonly elements: number;
  /** Bytes of one entry after decompression. */
  readonly entryBytes: number;
  /** Decompressed bytes for each compressed byte. */
  readonly ratio: number;
  /** Decompressed bytes that a reader keeps to read them again. */
  readonly cacheBytes: number;
}

export const READ_LIMITS: ReadLimits = {
  stringBytes: 1024 * 1024,
  depth: 64,
  elements: 1_000_000,
  entryBytes: 512 * 1024 * 1024,
  ratio: 200,
  // Enough to read the names of a usual bundle and then its objects.
  cacheBytes: 32 * 1024 * 1024,
};

/**
 * Receives errors that cost one part of a file only: an object, an entry, a row. The reader continues behind it.
 *
 * @param path the path of fields to the part, as far as the reader knows it; `null` for the file itself
 */
export type ReportPartError = (error: FormatError, path: string | null) => void;

/**
 * A visitor that hands every event on, with other positions: a format whose places are more than two positions numbers
 * them instead.
 */
export function numberedVisitor(
  visitor: ValueVisitor,
  number: (value: string | Uint8Array, start: number) => number,
): ValueVisitor {
  const numbered =
    <Value extends string | Uint8Array>(report: (value: Value, start: number, end: number) => void) =>
    (value: Value, start: number): void => {
      const place = number(value, start);
      report(value, place, place);
    };
  return forwardingVisitor(visitor, {
    text: numbered((value, start, end) => visitor.text(value, start, end)),
    bytes: numbered((value, start, end) => visitor.bytes(value, start, end)),
  });
}

/** The integer as a number where a number holds it exactly, else as it is. */
export function exactInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
