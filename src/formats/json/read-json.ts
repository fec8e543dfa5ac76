import { type JSONVisitor, type ParseOptions, printParseErrorCode, visit } from 'jsonc-parser';
import { FormatError } from '../format-error.ts';
import { escapePointer } from '../collect/path-syntax.ts';
import { byteOffsets, type DecodedText } from '../text/decode-text.ts';
import { reportText, type ReadTarget } from '../text/report-text.ts';
import type { ReadLimits } from '../value-visitor.ts';

const STRICT: ParseOptions = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };
/** Digits of the longest integer that is reported; ids are 64 bits wide. */
const MAX_INTEGER = 40;

/**
 * Reads a JSON text (RFC 8259). It is read twice: the first pass finds errors and duplicate keys, the second one reports
 * values. So a text with an error reports nothing, and of members with the same key only the last one is reported, as
 * JSON.parse does; each of the others is a part error `duplicate_key` with its JSON pointer.
 *
 * @throws FormatError `json_invalid`, `nesting_too_deep`, `container_limit_exceeded`
 */
export function readJson(decoded: DecodedText, target: ReadTarget): void {
  const superseded = checkJson(decoded, target.limits);
  visit(decoded.text, reportingVisitor(decoded, target, superseded), STRICT);
}

interface Container {
  count: number;
  /** Where the last member of each key begins; `null` for an array. */
  readonly members: Map<string, number> | null;
}

/** Checks syntax and bounds. Returns where the keys begin of the members whose key follows again in the same object. */
function checkJson(decoded: DecodedText, limits: ReadLimits): ReadonlySet<number> {
  const { text } = decoded;
  const superseded = new Set<number>();
  const open: Container[] = [];
  const fail = (
    code: 'container_limit_exceeded' | 'nesting_too_deep',
    message: string,
    at: number,
  ): never => {
    throw new FormatError(code, message, byteOffsets(decoded)(at));
  };
  const add = (container: Container, at: number): void => {
    container.count += 1;
    if (container.count > limits.elements) {
      fail('container_limit_exceeded', `an array or object has more than ${limits.elements} elements`, at);
    }
  };
  const element = (at: number): void => {
    const container = open.at(-1);
    if (container?.members === null) add(container, at);
  };
  const begin = (members: Map<string, number> | null, at: number): void => {
    element(at);
    open.push({ count: 0, members });
    if (open.length > limits.depth) fail('nesting_too_deep', `more than ${limits.depth} levels`, at);
  };
  visit(
    text,
    {
      onObjectBegin: (offset) => {
        begin(new Map(), offset);
      },
      onArrayBegin: (offset) => {
        begin(null, offset);
      },
      onObjectEnd: () => {
        open.pop();
      },
      onArrayEnd: () => {
        open.pop();
      },
      onLiteralValue: (_value, offset) => {
        element(offset);
      },
      onObjectProperty: (key, offset) => {
        const container = open.at(-1);
        if (!container?.members) return;
        add(container, offset);
        const earlier = container.members.get(key);
        if (earlier !== undefined) superseded.add(earlier);
        container.members.set(key, offset);
      },
      onError: (error, offset, _length, line, character) => {
        const message = `${wordsOf(printParseErrorCode(error))} in line ${line + 1}, column ${character + 1}`;
        throw new FormatError('json_invalid', message, byteOffsets(decoded)(offset));
      },
    },
    STRICT,
  );
  return superseded;
}

/** The second pass. Skips the superseded members. */
function reportingVisitor(
  decoded: DecodedText,
  target: ReadTarget,
  superseded: ReadonlySet<number>,
): JSONVisitor {
  const { visitor, reportPartError } = target;
  const byteOffsetOf = byteOffsets(decoded);
  let skipping = false;
  const begin = (report: () => void): boolean => {
    if (!skipping) report();
    // The parser then reports the end of the container only.
    return !skipping;
  };
  const end = (report: () => void): void => {
    if (!skipping) report();
    skipping = false;
  };
  const [beginObject, beginArray, endObject, endArray] = [
    visitor.beginObject.bind(visitor),
    visitor.beginArray.bind(visitor),
    visitor.endObject.bind(visitor),
    visitor.endArray.bind(visitor),
  ];
  return {
    onObjectBegin: () => begin(beginObject),
    onArrayBegin: () => begin(beginArray),
    onObjectEnd: () => {
      end(endObject);
    },
    onArrayEnd: () => {
      end(endArray);
    },
    onObjectProperty: (key, offset, ...[, , , pathOf]) => {
      if (superseded.has(offset)) {
        const error = new FormatError('duplicate_key', 'the object has this key again', byteOffsetOf(offset));
        reportPartError(error, pointer([...pathOf(), key]));
        skipping = true;
      } else if (key.isWellFormed()) {
        visitor.field(key);
      } else {
        const error = new FormatError(
          'encoding_invalid',
          'a key has half a surrogate pair',
          byteOffsetOf(offset),
        );
        reportPartError(error, pointer([...pathOf(), key]));
        skipping = true;
      }
    },
    onLiteralValue: (value: unknown, offset, length, ...[, , pathOf]) => {
      if (skipping) {
        skipping = false;
      } else if (typeof value === 'string') {
        reportText(target, { value, start: offset, end: offset + length }, () => pointer(pathOf()));
      } else if (typeof value === 'number') {
        reportNumber(target, value, decoded.text.slice(offset, offset + length), offset);
      } else {
        visitor.other();
      }
    },
  };
}

function reportNumber({ visitor }: ReadTarget, value: number, literal: string, start: number): void {
  if (literal.length > MAX_INTEGER || !/^-?\d+$/.test(literal)) {
    visitor.other();
    return;
  }
  // Zero has no sign as an integer.
  const integer = Number.isSafeInteger(value) ? value || 0 : BigInt(literal);
  visitor.integer(integer, start, start + literal.length);
}

function pointer(path: readonly (string | number)[]): string {
  return path.map((part) => `/${escapePointer(String(part).toWellFormed())}`).join('');
}

/** The words of an error's name: `UnexpectedEndOfString` is `unexpected end of string`. */
function wordsOf(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}
