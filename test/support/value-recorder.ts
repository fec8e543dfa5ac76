import { READ_LIMITS, type ReadLimits } from '../../src/formats/value-visitor.ts';
import type { ReadTarget } from '../../src/formats/text/report-text.ts';
import { FormatError } from '../../src/formats/format-error.ts';

/** A string that a reader reported. */
interface RecordedText {
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** A part error that a reader reported. */
interface RecordedError {
  readonly code: string;
  readonly path: string | null;
  readonly offset: number | null;
}

/** Collects what a format reader reports. */
export interface ValueRecorder extends ReadTarget {
  /** The calls in their order: `{`, `}`, `[`, `]`, `name:`, `#row id`, `"text"`, an integer, `?` for another value. */
  readonly events: string[];
  readonly texts: RecordedText[];
  readonly errors: RecordedError[];
}

/** @param limits those that differ from the default */
export function createValueRecorder(limits: Partial<ReadLimits> = {}): ValueRecorder {
  const events: string[] = [];
  const texts: RecordedText[] = [];
  const errors: RecordedError[] = [];
  const event = (name: string) => (): void => {
    events.push(name);
  };
  return {
    events,
    texts,
    errors,
    limits: { ...READ_LIMITS, ...limits },
    reportPartError: (error, path) => {
      errors.push({ code: error.code, path, offset: error.offset });
    },
    visitor: {
      beginObject: event('{'),
      endObject: event('}'),
      beginArray: event('['),
      endArray: event(']'),
      field: (name) => {
        events.push(`${name}:`);
      },
      element: (name) => {
        events.push(`#${name}`);
      },
      text: (value, start, end) => {
        events.push(JSON.stringify(value));
        texts.push({ value, start, end });
      },
      bytes: event('bytes'),
      integer: (value) => {
        events.push(String(value));
      },
      label: (value) => {
        events.push(`@${JSON.stringify(value)}`);
      },
      other: event('?'),
    },
  };
}

/** The code and the offset of the error that a reader throws. Another error than a format error is thrown again. */
export function formatErrorOf(read: () => unknown): { code: string; offset: number | null } | null {
  try {
    read();
    return null;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return { code: error.code, offset: error.offset };
  }
}
