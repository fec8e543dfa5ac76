import { JsonError } from '../../contract/json/json-error.ts';
import { parseJsonExact } from '../../contract/json/json-exact.ts';
import { isRecord } from '../../domain/is-record.ts';
import { createStreamDecoder } from '../decode-stream.ts';
import type { JsonObject } from '../json-values.ts';
import type { FileReader } from '../file-codec.ts';
import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';

/** Four texts, each character as an escape of six. */
const MAX_LINE_CHARACTERS = 4 * 6 * MAX_TEXT_CHARACTERS;

interface JsonLinesOptions<T> {
  readonly format: string;
  /** The name of the items in the last line, which counts them, such as `units`. */
  readonly counted: string;
  /** A key that every item has, by which the last line differs from them. */
  readonly itemKey: string;
  readonly read: (value: JsonObject, line: number) => T;
}

interface JsonLinesReader<T> extends FileReader<T> {
  /** The first line of our own files; `null` before it, and in files of others. */
  header(): JsonObject | null;
}

/**
 * Makes a reader. The first line of our own files names the format and promises a last line with the number of items, so that
 * a cut is found. Files of others can begin with an item.
 */
export function createJsonLinesReader<T>(options: JsonLinesOptions<T>): JsonLinesReader<T> {
  const decoder = createStreamDecoder();
  /** The parts of a line without its end. Joining them only once keeps a long line linear. */
  let rest: string[] = [];
  let restLength = 0;
  let line = 0;
  let items = 0;
  let header: JsonObject | null = null;
  let ended = false;

  const refuse = (
    reason: 'syntax_invalid' | 'structure_invalid' | 'limit_exceeded',
    message: string,
  ): never => {
    throw new ExchangeFileError(reason, message, line);
  };

  const readLine = (text: string): T[] => {
    line += 1;
    if (text.trim() === '') return [];
    if (ended) refuse('structure_invalid', 'the file continues behind its last line');
    const value = parsed(text);
    if (value instanceof JsonError && value.kind !== 'syntax')
      return refuse('structure_invalid', value.message);
    if (value instanceof JsonError || !isRecord(value))
      return refuse('syntax_invalid', 'the line is not a JSON object; the file may be cut off');
    if (value['format'] === options.format) {
      if (line !== 1) refuse('structure_invalid', 'a second file begins here');
      header = value;
      return [];
    }
    if (value['end'] === true && value[options.itemKey] === undefined) {
      if (value[options.counted] !== items)
        refuse('structure_invalid', `the file has ${items} ${options.counted}, not those it counts`);
      ended = true;
      return [];
    }
    items += 1;
    return [options.read(value, line)];
  };

  const readLines = (text: string): T[] => {
    const [first = '', ...others] = text.split('\n');
    rest.push(first);
    restLength += first.length;
    if (restLength > MAX_LINE_CHARACTERS) {
      line += 1;
      refuse('limit_exceeded', 'the line is too long');
    }
    if (others.length === 0) return [];
    const lines = [rest.join(''), ...others.slice(0, -1)];
    rest = [others.at(-1) ?? ''];
    restLength = rest[0]?.length ?? 0;
    return lines.flatMap(readLine);
  };

  return {
    write: (bytes) => readLines(decoder.write(bytes)),
    end() {
      const results = [...readLines(decoder.end()), ...(restLength === 0 ? [] : readLine(rest.join('')))];
      if (header === null && items === 0 && !ended) {
        line = Math.max(line, 1);
        refuse('structure_invalid', 'the file is empty; nothing is in it to import');
      }
      if (header !== null && !ended)
        refuse('structure_invalid', 'the last line is missing; the file is cut off');
      return results;
    },
    header: () => header,
  };
}

/** A value as a line. It carries every text, also lone surrogates, as escapes. */
export function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** The value of a line; an error for one that is no JSON, or in which an object has a key twice. */
function parsed(text: string): unknown {
  try {
    return parseJsonExact(text, { strict: true });
  } catch (error) {
    if (error instanceof JsonError) return error;
    throw error;
  }
}
