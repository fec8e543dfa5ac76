import { ExchangeFileError, type ExchangeFileReason } from '../../../contract/formats/exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../../../contract/formats/text-limit.ts';
import { isRecord } from '../../../domain/is-record.ts';
import { createStreamDecoder } from '../../decode-stream.ts';
import type { JsonObject } from '../../json-values.ts';
import { readUnit } from '../read-unit.ts';
import type { ReadResult, UnitLanguages, UnitReader } from '../unit-record.ts';
import { OWN_COMMENT } from './po-names.ts';
import { unescapedPo } from '../../../formats/po/po-literal.ts';

/** A text in full, each of its bytes as an escape, or the values of a unit in a comment. */
const MAX_LINE_CHARACTERS = 4 * 6 * MAX_TEXT_CHARACTERS;
const KEYWORD = /^(msgctxt|msgid_plural|msgid|msgstr)(\[\d{1,3}\])?[ \t]*(?=")/;
const CHARSET = /^(?:msgstr[ \t]+)?"(?:[^"\r\n]*\\n)?Content-Type:[^"\r\n]*?\bcharset=([\w.:-]+)[^\w.:-]/im;
const MESSAGE = /^(?:msgctxt|msgid)[ \t]+"[^"]/m;

type Field = 'msgctxt' | 'msgid' | 'msgid_plural' | 'msgstr' | 'previous';

interface Message {
  /** Of its first keyword, from 1; `null` while only comments were read. */
  line: number | null;
  readonly texts: Map<Field, string>;
  readonly notes: string[];
  noteLength: number;
  own: JsonObject;
  /** Whether the next extracted comment has our values: polib breaks long comments at their blanks. */
  isOwnNext: boolean;
  hasForms: boolean;
}

/**
 * Makes a reader of catalogs of gettext. The context of a message is the id of its unit. Messages of other tools need none: they are
 * found by their text. Obsolete messages and unknown comments are left out; a message with plural forms is a problem. A file declares
 * its encoding in its header. Source: GNU gettext manual, "The Format of PO Files".
 */
export function createPoReader(): UnitReader {
  const decoder = createStreamDecoder(declaredEncoding);
  const catalog = new PoCatalog();
  /** The parts of a line without its end. Joining them only once keeps a long line linear. */
  let rest: string[] = [];
  let restLength = 0;
  /** Whether a line feed at the beginning belongs to the line end before. */
  let isBehindReturn = false;

  const readLines = (given: string): void => {
    const text = isBehindReturn && given.startsWith('\n') ? given.slice(1) : given;
    if (given !== '') isBehindReturn = given.endsWith('\r');
    const [first = '', ...others] = text.split(/\r\n|\n|\r/);
    rest.push(first);
    restLength += first.length;
    catalog.limitLine(restLength);
    if (others.length === 0) return;
    const last = others.pop() ?? '';
    for (const line of [rest.join(''), ...others]) catalog.line(line);
    rest = [last];
    restLength = last.length;
  };

  return {
    write(bytes) {
      readLines(decoder.write(bytes));
      return catalog.take();
    },
    end() {
      readLines(decoder.end());
      catalog.line(rest.join(''));
      catalog.end();
      return catalog.take();
    },
    languages: () => catalog.languages,
  };
}

function declaredEncoding(beginning: string): string | null | undefined {
  const charset = CHARSET.exec(beginning)?.[1];
  // Templates of gettext say "CHARSET".
  if (charset !== undefined) return charset === 'CHARSET' ? null : charset;
  return MESSAGE.test(beginning) ? null : undefined;
}

class PoCatalog {
  languages: Partial<UnitLanguages> = {};
  #line = 0;
  #message = newMessage();
  /** What a literal without a keyword continues. */
  #field: Field | null = null;
  #messages = 0;
  #results: ReadResult[] = [];

  line(text: string): void {
    this.#line += 1;
    const line = text.trim();
    if (line === '') this.#field = null;
    else if (line.startsWith('#')) this.#comment(line);
    else this.#entry(line);
  }

  /** The results that are complete, once. */
  take(): ReadResult[] {
    const results = this.#results;
    this.#results = [];
    return results;
  }

  /** @throws ExchangeFileError when the file is cut off */
  end(): void {
    this.#finish();
    if (this.#messages === 0) this.#refuse('structure_invalid', 'the file contains no gettext messages');
  }

  /** Bounds the line that is not complete yet. */
  limitLine(characters: number): void {
    if (characters <= MAX_LINE_CHARACTERS) return;
    const message = `the line has more than ${MAX_LINE_CHARACTERS} characters`;
    throw new ExchangeFileError('limit_exceeded', message, this.#line + 1);
  }

  #limit(characters: number, most: number, what: string): void {
    if (characters > most) this.#refuse('limit_exceeded', `${what} has more than ${most} characters`);
  }

  #comment(line: string): void {
    const [, mark = '', text = ''] = /^#([~|,.:=]?)[ \t]?(.*)$/su.exec(line) ?? [];
    if (this.#message.texts.has('msgstr') || mark === '~') this.#finish();
    if (mark === '|') return this.#previous(text);
    this.#field = null;
    if (mark === '.') this.#extracted(text);
    else if (mark === '' && text.trim() !== '') {
      this.#message.notes.push(text);
      this.#message.noteLength += text.length;
      this.#limit(this.#message.noteLength, MAX_TEXT_CHARACTERS, 'the comment of a message');
    }
  }

  #extracted(text: string): void {
    if (text.startsWith(`${OWN_COMMENT} `)) this.#own(text.slice(OWN_COMMENT.length));
    else if (this.#message.isOwnNext) this.#own(text);
    this.#message.isOwnNext = text === OWN_COMMENT;
  }

  #own(json: string): void {
    try {
      const value: unknown = JSON.parse(json);
      if (isRecord(value)) this.#message.own = value;
    } catch {
      // Another program has changed it. The unit is found by its id or text.
    }
  }

  #previous(text: string): void {
    const keyword = KEYWORD.exec(text);
    if (keyword !== null) this.#field = keyword[1] === 'msgid' ? 'previous' : null;
    if (this.#field === 'previous') this.#append('previous', text.slice(keyword?.[0].length ?? 0));
  }

  #entry(line: string): void {
    const [opening = '', keyword, form] = KEYWORD.exec(line) ?? [];
    if (keyword === undefined) {
      const field = this.#field;
      if (field === null || field === 'previous') {
        return this.#refuse('syntax_invalid', 'expected msgid, msgstr or msgctxt and a quoted string');
      }
      return this.#append(field, line);
    }
    const field = keyword as Field;
    if (this.#message.texts.has('msgstr') && (field === 'msgctxt' || field === 'msgid')) this.#finish();
    if (form === undefined && this.#message.texts.has(field)) {
      this.#refuse('structure_invalid', `the message has ${field} twice`);
    }
    this.#message.hasForms ||= form !== undefined || field === 'msgid_plural';
    this.#message.line ??= this.#line;
    this.#field = field;
    this.#append(field, line.slice(opening.length));
  }

  #append(field: Field, quoted: string): void {
    const end = closingQuote(quoted);
    if (end === -1 || quoted.slice(end + 1).trim() !== '') {
      return this.#refuse('syntax_invalid', 'a string is not closed, or continues after its quote');
    }
    const part = unescapedPo(quoted.slice(1, end), false);
    if (part === null) return this.#refuse('encoding_invalid', 'the bytes of an escape are not valid UTF-8');
    const text = (this.#message.texts.get(field) ?? '') + part;
    this.#limit(text.length, MAX_TEXT_CHARACTERS, 'a text');
    this.#message.texts.set(field, text);
  }

  #finish(): void {
    const message = this.#message;
    this.#message = newMessage();
    this.#field = null;
    const { line, texts } = message;
    if (line === null) return;
    const source = texts.get('msgid');
    if (source === undefined || !texts.has('msgstr')) {
      const missing = source === undefined ? 'msgid' : 'msgstr';
      return this.#refuse('structure_invalid', `a message has no ${missing}; the file may be cut off`);
    }
    this.#messages += 1;
    if (source === '' && !texts.has('msgctxt')) this.languages = languagesOf(texts.get('msgstr') ?? '');
    else this.#results.push(resultOf(message, source, line));
  }

  #refuse(reason: ExchangeFileReason, message: string): never {
    throw new ExchangeFileError(reason, message, Math.max(this.#line, 1));
  }
}

/** Where the string ends that begins with a quote; -1 when it is not closed. */
function closingQuote(quoted: string): number {
  for (let at = 1; at < quoted.length; at += 1) {
    const character = quoted[at];
    if (character === '"') return at;
    if (character === '\\') at += 1;
  }
  return -1;
}

function newMessage(): Message {
  return {
    line: null,
    texts: new Map(),
    notes: [],
    noteLength: 0,
    own: {},
    isOwnNext: false,
    hasForms: false,
  };
}

function resultOf({ texts, notes, own, hasForms }: Message, source: string, line: number): ReadResult {
  const unitId = texts.get('msgctxt') ?? null;
  if (hasForms) {
    const message = 'the message has plural forms, and a unit has one text';
    return { kind: 'problem', line, unit_id: unitId, reason: 'value_invalid', message };
  }
  const target = texts.get('msgstr') ?? '';
  const ownNote = typeof own['note'] === 'string' ? [own['note']] : [];
  const allNotes = [...ownNote, ...notes];
  const values = {
    ...own,
    unit_id: unitId,
    source_text: source,
    target_text: target === '' ? null : target,
    note: allNotes.length === 0 ? null : allNotes.join('\n'),
    previous_source: texts.get('previous') ?? null,
  };
  return readUnit(values, line);
}

function languagesOf(header: string): Partial<UnitLanguages> {
  const source = /^X-Source-Language:[ \t]*(\S+)/im.exec(header)?.[1];
  const target = /^Language:[ \t]*(\S+)/im.exec(header)?.[1];
  return {
    ...(source === undefined ? {} : { sourceLanguage: tagOf(source) }),
    ...(target === undefined ? {} : { targetLanguage: tagOf(target) }),
  };
}

/** gettext writes `zh_CN` for the language tag `zh-CN`. */
function tagOf(name: string): string {
  return name.replaceAll('_', '-');
}
