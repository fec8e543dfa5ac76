import { createStreamDecoder } from '../../decode-stream.ts';
import { ExchangeFileError } from '../../exchange-file-error.ts';
import { readUnit } from '../read-unit.ts';
import { MAX_TEXT_CHARACTERS, type ReadResult, type UnitLanguages, type UnitReader } from '../unit-record.ts';
import { JSONL_FORMAT } from './write-jsonl.ts';

/** Four texts, each character as an escape of six. */
const MAX_LINE_CHARACTERS = 4 * 6 * MAX_TEXT_CHARACTERS;

/**
 * Makes a reader of one JSON object a line. The first line of our own files names the languages and promises a last line
 * with the number of units, so that a cut is found. Files of others can begin with a unit.
 */
export function createJsonlReader(): UnitReader {
  const decoder = createStreamDecoder();
  /** The parts of a line without its end. Joining them only once keeps a long line linear. */
  let rest: string[] = [];
  let restLength = 0;
  let line = 0;
  let units = 0;
  let languages: Partial<UnitLanguages> = {};
  let promised = false;
  let ended = false;

  const refuse = (
    reason: 'syntax_invalid' | 'structure_invalid' | 'limit_exceeded',
    message: string,
  ): never => {
    throw new ExchangeFileError(reason, message, line);
  };

  const readLine = (text: string): ReadResult[] => {
    line += 1;
    if (text.trim() === '') return [];
    if (ended) refuse('structure_invalid', 'the file continues behind its last line');
    const value = parsed(text);
    if (value === null)
      return refuse('syntax_invalid', 'the line is not a JSON object; the file may be cut off');
    if (value['format'] === JSONL_FORMAT) {
      if (line !== 1) refuse('structure_invalid', 'a second file begins here');
      languages = languagesOf(value);
      promised = true;
      return [];
    }
    if (value['end'] === true && value['unit_id'] === undefined) {
      if (value['units'] !== units)
        refuse('structure_invalid', `the file has ${units} units, not those it counts`);
      ended = true;
      return [];
    }
    units += 1;
    return [readUnit(value, line)];
  };

  const readLines = (text: string): ReadResult[] => {
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
      if (promised && !ended) refuse('structure_invalid', 'the last line is missing; the file is cut off');
      return results;
    },
    languages: () => languages,
  };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function languagesOf(header: Readonly<Record<string, unknown>>): Partial<UnitLanguages> {
  const { source_language: source, target_language: target } = header;
  return {
    ...(typeof source === 'string' ? { sourceLanguage: source } : {}),
    ...(typeof target === 'string' ? { targetLanguage: target } : {}),
  };
}
