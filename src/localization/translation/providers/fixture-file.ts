import { createReadStream } from 'node:fs';
import { z } from 'zod';
import { parseJsonExact } from '../../../contract/json/json-exact.ts';
import { createBlake3 } from '../../../platform/hashing/blake3.ts';
import { evaluationFinding, MOST_FINDINGS } from './evaluation.ts';
import { messageOf } from '../../../platform/errors.ts';

/** A file of prepared translations cannot be used. The message names the line, or the item of an array. */
export class FixtureFileError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'FixtureFileError';
  }
}

const name = z.string().min(1).max(1024);
const text = z.string().max(1_000_000);

const itemSchema = z
  .object({
    unit_id: name.optional(),
    source_text: text.optional(),
    translated_text: text.optional(),
    findings: z.array(evaluationFinding).max(MOST_FINDINGS).optional(),
    fail: z.enum(['timeout', '429', '500', 'malformed']).optional(),
    times: z.int().min(1).max(1_000_000).optional(),
  })
  .refine((item) => item.unit_id !== undefined || item.source_text !== undefined, {
    message: 'needs unit_id or source_text',
  })
  .refine(
    ({ translated_text: translated, findings, fail }) =>
      (translated === undefined && findings === undefined) !== (fail === undefined),
    { message: 'needs either translated_text or findings, or fail' },
  );

/** One item: a translation, what an evaluation finds in one, or a failure to play. */
export type FixtureItem = z.output<typeof itemSchema>;

/** The items of a file, with its digest. */
export interface FixtureFile {
  readonly items: readonly FixtureItem[];
  /** BLAKE3 of the file, 64 hex digits. */
  readonly blake3: string;
}

/** An array is parsed as a whole, and blocks the thread for as long. */
const ARRAY_MAX_BYTES = 1024 ** 2;
const FILE_MAX_BYTES = 256 * 1024 ** 2;
const LINE_MAX_CHARACTERS = 8 * 1024 ** 2;
const OPENING_BRACKET = 0x5b;
const JSON_SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Reads prepared translations: a JSON array of items, or one item on each line.
 *
 * @param path already confined to where such files may be
 * @throws FixtureFileError for a file that is missing, too large or wrong
 */
export async function readFixtureFile(path: string, signal: AbortSignal): Promise<FixtureFile> {
  const hasher = createBlake3();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const items: FixtureItem[] = [];
  let isArray: boolean | null = null;
  let size = 0;
  let pending = '';
  let lineNumber = 0;

  const readLine = (line: string): void => {
    lineNumber += 1;
    if (line.trim() !== '') items.push(readItem(line, `line ${lineNumber}`));
  };
  const readLines = (isEnd: boolean): void => {
    const lines = pending.split('\n');
    pending = isEnd ? '' : (lines.pop() ?? '');
    for (const line of lines) readLine(line);
    if (pending.length > LINE_MAX_CHARACTERS) {
      throw new FixtureFileError(`line ${lineNumber + 1} has more than ${LINE_MAX_CHARACTERS} characters`);
    }
  };

  try {
    for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      const first = chunk.find((byte) => !JSON_SPACE.has(byte));
      if (isArray === null && first !== undefined) isArray = first === OPENING_BRACKET;
      assertSize(size, isArray === true);
      hasher.update(chunk);
      pending += decoder.decode(chunk, { stream: true });
      if (isArray !== true) readLines(false);
    }
    pending += decoder.decode();
    if (isArray === true) items.push(...readArray(pending));
    else readLines(true);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FixtureFileError) throw error;
    throw new FixtureFileError(`cannot be read: ${messageOf(error)}`, { cause: error });
  }
  return { items, blake3: hasher.digest().toString('hex') };
}

function assertSize(size: number, isArray: boolean): void {
  if (size > FILE_MAX_BYTES) throw new FixtureFileError(`has more than ${FILE_MAX_BYTES} bytes`);
  if (isArray && size > ARRAY_MAX_BYTES) {
    throw new FixtureFileError(
      `is a JSON array of more than ${ARRAY_MAX_BYTES} bytes; write one item on each line instead`,
    );
  }
}

function readArray(text: string): FixtureItem[] {
  const value = parseOrExplain(text, 'the array');
  if (!Array.isArray(value)) throw new FixtureFileError('the file starts like a JSON array but is not one');
  return value.map((item, index) => checkItem(item, `item ${index}`));
}

function readItem(text: string, where: string): FixtureItem {
  return checkItem(parseOrExplain(text, where), where);
}

function parseOrExplain(text: string, where: string): unknown {
  try {
    return parseJsonExact(text, { strict: true, maxDepth: 8 });
  } catch (cause) {
    throw new FixtureFileError(`${where}: ${messageOf(cause)}`, { cause });
  }
}

function checkItem(value: unknown, where: string): FixtureItem {
  const checked = itemSchema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const path = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  throw new FixtureFileError(`${where}: ${path}${issue?.message ?? 'is not an item'}`);
}
