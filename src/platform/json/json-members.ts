import { isUtf8 } from 'node:buffer';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../contract/json/json-characters.ts';
import { JsonByteSource, MAX_NAME_BYTES } from './json-byte-source.ts';

/** The first letter of `null`; no other JSON value begins with it. */
const LETTER_N = 0x6e;

/** One thing that {@link readJsonMembers} found; things come in document order. */
export type JsonMember =
  /** A member of the top-level object that is not a listed container. */
  | { readonly kind: 'value'; readonly key: string; readonly value: unknown }
  /** An element of a listed array, or a member of a listed object (`name` is then its key). */
  | {
      readonly kind: 'element';
      readonly container: string;
      readonly name: string | null;
      readonly value: unknown;
    };

interface JsonMemberRules {
  /** Keys of the top-level object whose value is read element by element. */
  readonly containers: ReadonlySet<string>;
  /** Maximum number of bytes of one element, or of one other value. */
  readonly maxValueBytes: number;
  /** Whether a container that is `null` counts as an empty one; `false` by default. */
  readonly nullIsEmpty?: boolean;
}

/**
 * Reads one JSON object (RFC 8259) member by member, and the listed containers element by element, so that memory
 * holds one element and one chunk however large the document is. A batch is what one chunk holds; nothing is read
 * ahead of the consumer.
 *
 * A byte scanner finds where each value ends and `JSON.parse` reads the value, which also checks its grammar. This is
 * an order of magnitude faster than a tokenizer that emits every token.
 *
 * @throws JsonMemberError, and whatever iterating over `chunks` throws
 */
export async function* readJsonMembers(
  chunks: AsyncIterable<Uint8Array>,
  rules: JsonMemberRules,
): AsyncGenerator<readonly JsonMember[], void> {
  const source = new JsonByteSource(chunks);
  try {
    await source.skipByteOrderMark();
    await source.expect(OPEN_OBJECT, 'the document must be a JSON object');
    const seen = new Set<string>();
    if ((await source.peek()) === CLOSE_OBJECT) source.skip();
    else {
      for (;;) {
        const key = await readKey(source, rules.maxValueBytes);
        if (seen.has(key)) throw source.error(`the key ${JSON.stringify(key)} appears twice`);
        seen.add(key);
        if (rules.containers.has(key)) yield* readContainer(source, key, rules);
        else yield [{ kind: 'value', key, value: await readValue(source, rules.maxValueBytes) }];
        if (!(await source.another(CLOSE_OBJECT))) break;
      }
    }
    if ((await source.peekOrEnd()) !== null) throw source.error('there is text after the document');
  } finally {
    await source.close();
  }
}

async function* readContainer(
  source: JsonByteSource,
  container: string,
  { maxValueBytes, nullIsEmpty = false }: JsonMemberRules,
): AsyncGenerator<readonly JsonMember[], void> {
  const open = await source.peek();
  if (nullIsEmpty && open === LETTER_N) {
    await readValue(source, maxValueBytes);
    return;
  }
  if (open !== OPEN_ARRAY && open !== OPEN_OBJECT) {
    throw source.error(`${JSON.stringify(container)} must be an array or an object`);
  }
  source.skip();
  const close = open === OPEN_ARRAY ? CLOSE_ARRAY : CLOSE_OBJECT;
  if ((await source.peek()) === close) {
    source.skip();
    return;
  }
  let batch: JsonMember[] = [];
  for (let last = false; !last;) {
    const element = source.takeElement(close, maxValueBytes);
    if (element === null) {
      if (batch.length > 0) yield batch;
      batch = [];
      await source.extend();
      continue;
    }
    const name = element.name === null ? null : (parseValue(source, element.name) as string);
    batch.push({ kind: 'element', container, name, value: parseValue(source, element.value) });
    last = element.last;
  }
  yield batch;
}

async function readKey(source: JsonByteSource, maxValueBytes: number): Promise<string> {
  if ((await source.peek()) !== QUOTE) throw source.error('a member name in double quotes was expected');
  const key = await readValue(source, Math.min(maxValueBytes, MAX_NAME_BYTES));
  await source.expect(COLON, 'a ":" was expected');
  return key as string;
}

async function readValue(source: JsonByteSource, maxBytes: number): Promise<unknown> {
  await source.peek();
  for (;;) {
    const bytes = source.takeValue(maxBytes);
    if (bytes !== null) return parseValue(source, bytes);
    await source.extend();
  }
}

function parseValue(source: JsonByteSource, bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw source.error('a value is not valid UTF-8');
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    throw source.error('a value is not valid JSON');
  }
}
