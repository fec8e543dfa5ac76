import { FormatError } from '../format-error.ts';
import { byteOffsets, type DecodedText } from '../text/decode-text.ts';
import { reportText, type FoundText, type ReadTarget } from '../text/report-text.ts';
import { unescapedPo } from './po-literal.ts';
import { blake3OfText } from '../../platform/hashing/text-blake3.ts';

/** UTF-16 code units of an identity of a message in paths; a longer one is shortened and named by its digest. */
const MAX_KEY = 200;
const DIGEST_BYTES = 8;
/** What gettext puts between the context and the message in a compiled catalog. */
const CONTEXT_END = '\u0004';

const KEYWORD = /^(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,3})\])?[ \t]*(?=")/;
/** The mark of a translation that a person must check first. */
const FUZZY = /^#,(?:.*[\s,])?fuzzy\b/;
const LINE_END = /\r\n|\n|\r/y;

interface Message {
  context: FoundText | null;
  id: FoundText | null;
  plural: FoundText | null;
  isFuzzy: boolean;
  readonly strings: { readonly form: number | null; readonly text: FoundText }[];
}

/**
 * Reads a catalog of gettext: the field `message`, an array of objects. The texts are those of `msgstr` (`msgstr`, or
 * `msgstr[0]` and so on). Where one is empty, its text is that of `msgid`, which a game shows then, at the place of the
 * `msgstr`. Messages are identified by their context and `msgid`. The header, obsolete messages and comments are left out, and so
 * are messages that are marked as fuzzy, because gettext leaves them out of a compiled catalog.
 * Source: GNU gettext manual, "The Format of PO Files".
 *
 * @throws FormatError `po_invalid`, `container_limit_exceeded`
 */
export function readPo(decoded: DecodedText, target: ReadTarget): void {
  const { visitor, limits } = target;
  visitor.field('message');
  visitor.beginArray();
  let index = 0;
  for (const message of messagesOf(decoded)) {
    if (index === limits.elements) {
      throw new FormatError(
        'container_limit_exceeded',
        `the catalog has more than ${limits.elements} messages`,
      );
    }
    const isHeader = message.id?.value === '' && message.context === null;
    if (message.id === null || isHeader || message.isFuzzy) visitor.other();
    else reportMessage(message, message.id, index, target);
    index += 1;
  }
  visitor.endArray();
}

function reportMessage(message: Message, id: FoundText, index: number, target: ReadTarget): void {
  const { visitor } = target;
  visitor.beginObject();
  visitor.field('key');
  visitor.label(keyOf(message, id.value));
  for (const { form, text } of message.strings) {
    const field = form === null ? 'msgstr' : `msgstr[${form}]`;
    const source = form === null || form === 0 ? id : (message.plural ?? id);
    visitor.field(field);
    const value = text.value === '' ? source.value : text.value;
    reportText(target, { ...text, value }, () => `message[${index}].${field}`);
  }
  visitor.endObject();
}

function keyOf({ context }: Message, id: string): string {
  const key = (context === null ? id : `${context.value}${CONTEXT_END}${id}`).toWellFormed();
  if (key.length <= MAX_KEY) return key;
  const digest = Buffer.from(blake3OfText(key).subarray(0, DIGEST_BYTES)).toString('hex');
  return `${key.slice(0, MAX_KEY).toWellFormed()}…${digest}`;
}

/** The messages in their order. An obsolete one begins with `#~`, so it is a comment. */
function* messagesOf(decoded: DecodedText): Generator<Message> {
  const { text } = decoded;
  let message = newMessage();
  let isFuzzy = false;
  for (let position = 0; position < text.length;) {
    const lineEnd = endOfLine(text, position);
    const start = behindBlanks(text, position);
    if (start === lineEnd || text.charAt(start) === '#') {
      if (FUZZY.test(text.slice(start, lineEnd))) isFuzzy = true;
      position = behindLineEnd(text, lineEnd);
      continue;
    }
    const [opening, keyword, form] = KEYWORD.exec(text.slice(start, lineEnd)) ?? [];
    const literals = opening === undefined ? null : readLiterals(text, start + opening.length);
    if (literals === null) {
      throw new FormatError(
        'po_invalid',
        'there is no keyword with a quoted string',
        byteOffsets(decoded)(start),
      );
    }
    if (message.strings.length > 0 && (keyword === 'msgctxt' || keyword === 'msgid')) {
      yield message;
      message = newMessage();
    }
    // The comments of a message stand in front of it.
    if (message.id === null && message.context === null) message.isFuzzy = isFuzzy;
    isFuzzy = false;
    const found = literals.text;
    if (keyword === 'msgctxt') message.context = found;
    else if (keyword === 'msgid') message.id = found;
    else if (keyword === 'msgid_plural') message.plural = found;
    else message.strings.push({ form: form === undefined ? null : Number(form), text: found });
    position = literals.next;
  }
  if (message.strings.length > 0) yield message;
}

function newMessage(): Message {
  return { context: null, id: null, plural: null, isFuzzy: false, strings: [] };
}

/** The string of one literal, or of several in lines that follow each other. `null` when something else is in their lines. */
function readLiterals(
  text: string,
  start: number,
): { readonly text: FoundText; readonly next: number } | null {
  let value = '';
  let end = start;
  let at = start;
  for (;;) {
    const close = closingQuote(text, at);
    if (close === -1) return null;
    const literal = text.slice(at + 1, close);
    // Bytes of another encoding stay as they are written.
    value += unescapedPo(literal, true) ?? literal;
    end = close + 1;
    const lineEnd = behindBlanks(text, end);
    if (lineEnd < text.length && !/[\r\n]/.test(text.charAt(lineEnd))) return null;
    const next = behindLineEnd(text, lineEnd);
    at = behindBlanks(text, next);
    if (text.charAt(at) !== '"') return { text: { value, start, end }, next };
  }
}

/** Where the string ends that begins at a quote; -1 when its line ends before. */
function closingQuote(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') return at;
    if (character === '\n' || character === '\r') return -1;
    if (character === '\\') at += 1;
  }
  return -1;
}

function behindBlanks(text: string, from: number): number {
  let at = from;
  while (text.charAt(at) === ' ' || text.charAt(at) === '\t') at += 1;
  return at;
}

function endOfLine(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x0a || code === 0x0d) return at;
  }
  return text.length;
}

function behindLineEnd(text: string, at: number): number {
  LINE_END.lastIndex = at;
  return LINE_END.test(text) ? LINE_END.lastIndex : at;
}
