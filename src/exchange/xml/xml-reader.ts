import { SaxesParser } from 'saxes';
import { createStreamDecoder, encodingName, type StreamDecoder } from '../decode-stream.ts';
import { ExchangeFileError, type ExchangeFileReason } from '../../contract/formats/exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';
import type { FileReader } from '../file-codec.ts';

export interface XmlElement {
  /** The name without its prefix. */
  readonly name: string;
  readonly namespace: string;
  /** The attributes by their names as written, such as `xml:lang`. */
  readonly attributes: ReadonlyMap<string, string>;
  /** The line on which the start tag ends, from 1. */
  readonly line: number;
}

/** Hears of the parts of a document in their order. It may throw an {@link ExchangeFileError}. */
interface XmlVisitor {
  open(element: XmlElement): void;
  /** Text, also of CDATA sections, with its references resolved. One text can come in several parts. */
  text(text: string): void;
  close(name: string): void;
}

export interface XmlLimits {
  readonly depth: number;
  readonly attributes: number;
  /** Characters between two parts: of a text, of an attribute, of comments that follow each other. */
  readonly tokenCharacters: number;
}

/** Enough for the formats in exchange; the text of a unit has at most 1 MiB. */
export const XML_LIMITS: XmlLimits = { depth: 32, attributes: 64, tokenCharacters: 8 * 2 ** 20 };

const XML_START = '<?xml';
/** Source: XML 1.0, productions 23 and 80. */
const DECLARATION = /^<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.:-]*)["']/;

function declaredEncoding(beginning: string): string | null | undefined {
  const length = Math.min(beginning.length, XML_START.length);
  if (beginning.slice(0, length) !== XML_START.slice(0, length)) return null;
  return beginning.includes('>') ? (DECLARATION.exec(beginning)?.[1] ?? null) : undefined;
}

/** Characters that are given to the parser in one step, so that its buffers keep to the limits. */
const FEED_CHARACTERS = 16 * 1024;

/**
 * Makes a reader of XML 1.0 with namespaces. It refuses documents with their own entities, since an internal part of the
 * document type is refused; an external one is never loaded. Only the five entities of XML and numbers are resolved.
 */
export function createXmlReader(
  visitor: XmlVisitor,
  limits: XmlLimits = XML_LIMITS,
): {
  /** @throws ExchangeFileError with line and reason; the reader must not be used afterwards */
  write(bytes: Uint8Array): void;
  end(): void;
  /** The current line from 1, for errors of the visitor. */
  line(): number;
} {
  const decoder = createStreamDecoder(declaredEncoding);
  const parser = createParser(visitor, limits, decoder);
  const feed = (text: string): void => {
    for (let at = 0; at < text.length; at += FEED_CHARACTERS) {
      parser.write(text.slice(at, at + FEED_CHARACTERS));
    }
  };
  return {
    write(bytes) {
      feed(decoder.write(bytes));
    },
    end() {
      feed(decoder.end());
      parser.close();
    },
    line: () => parser.line(),
  };
}

/**
 * A parser that throws its first error. It has six handlers at most: V8 keeps the fields of an object with more handlers, which the
 * parser stores by their names, in a hash table, and parsing takes four times as long.
 */
class FailingParser extends SaxesParser<{ xmlns: true; position: true }> {
  constructor() {
    super({ xmlns: true, position: true });
  }

  override fail(message: string): never {
    throw new ExchangeFileError(
      'syntax_invalid',
      message.replace(/\.$/, '').slice(0, 200).toWellFormed(),
      this.line,
    );
  }
}

interface BoundedParser {
  write(text: string): void;
  close(): void;
  line(): number;
}

function createParser(visitor: XmlVisitor, limits: XmlLimits, decoder: StreamDecoder): BoundedParser {
  const parser = new FailingParser();
  let depth = 0;
  /** Attributes of the tag that is being read, and how many it has, duplicates included. */
  let attributes = new Map<string, string>();
  let attributeCount = 0;
  let last = 0;
  let fed = 0;

  const refuse = (reason: ExchangeFileReason, message: string): never => {
    throw new ExchangeFileError(reason, message, parser.line);
  };
  const pass = (): void => {
    if (parser.position - last > limits.tokenCharacters) {
      refuse('limit_exceeded', `a part of the document has more than ${limits.tokenCharacters} characters`);
    }
    last = parser.position;
  };

  const checkEncoding = (): void => {
    const { encoding } = parser.xmlDecl;
    if (encoding === undefined || isEncoding(encoding, decoder)) return;
    refuse(
      'encoding_invalid',
      `the document declares ${JSON.stringify(encoding.slice(0, 40))} and is ${decoder.encoding().toUpperCase()}; save the file as UTF-8`,
    );
  };
  parser.on('doctype', (text) => {
    pass();
    if (!text.includes('[')) return;
    refuse('structure_invalid', 'the document defines a document type of its own; delete that definition');
  });
  parser.on('attribute', ({ name, value }) => {
    pass();
    attributes.set(name, value);
    attributeCount += 1;
    if (attributeCount <= limits.attributes) return;
    refuse('limit_exceeded', `an element has more than ${limits.attributes} attributes`);
  });
  parser.on('opentag', (tag) => {
    pass();
    if (depth === 0) checkEncoding();
    const own = attributes;
    attributes = new Map();
    attributeCount = 0;
    depth += 1;
    if (depth > limits.depth) {
      refuse('limit_exceeded', `elements are nested deeper than ${limits.depth} levels`);
    }
    visitor.open({
      name: tag.local,
      namespace: tag.uri,
      attributes: own,
      line: parser.line,
    });
  });
  parser.on('text', (text) => {
    pass();
    if (depth > 0) visitor.text(text);
  });
  parser.on('cdata', (text) => {
    pass();
    visitor.text(text);
  });
  parser.on('closetag', (tag) => {
    pass();
    depth -= 1;
    visitor.close(tag.local);
  });
  return {
    write(text) {
      fed += text.length;
      parser.write(text);
      if (fed - last > limits.tokenCharacters + FEED_CHARACTERS) {
        refuse('limit_exceeded', `a part of the document has more than ${limits.tokenCharacters} characters`);
      }
    },
    close: () => void parser.close(),
    line: () => parser.line,
  };
}

function isEncoding(declared: string, decoder: StreamDecoder): boolean {
  const encoding = decoder.encoding();
  return encodingName(declared) === encoding || (/^utf-16$/i.test(declared) && encoding.startsWith('utf-16'));
}

/** Collects the parts of a document as items. */
export abstract class XmlDocument<T> implements XmlVisitor {
  readonly #line: () => number;
  #items: T[] = [];

  /** @param line gives the current line from 1 */
  constructor(line: () => number) {
    this.#line = line;
  }

  abstract open(element: XmlElement): void;
  abstract text(text: string): void;
  abstract close(name: string): void;

  /** The items that are complete, once. */
  take(): T[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }

  protected add(item: T): void {
    this.#items.push(item);
  }

  /** The character with a number, for characters that XML cannot carry. @throws ExchangeFileError */
  protected characterOf(hex: string): string {
    const codePoint = /^[0-9A-Fa-f]{2,8}$/.test(hex) ? Number.parseInt(hex, 16) : Infinity;
    if (codePoint <= 0x10_ffff) return String.fromCodePoint(codePoint);
    return this.refuse(
      'structure_invalid',
      `${JSON.stringify(hex.slice(0, 40))} is not the number of a character`,
    );
  }

  /** A text of the document. @throws ExchangeFileError when it is longer than any text of the service */
  protected bounded(text: string): string {
    if (text.length <= MAX_TEXT_CHARACTERS) return text;
    return this.refuse('limit_exceeded', `a text has more than ${MAX_TEXT_CHARACTERS} characters`);
  }

  protected refuse(reason: ExchangeFileReason, message: string): never {
    throw new ExchangeFileError(reason, message, this.#line());
  }
}

/**
 * Makes a reader of the items of a document.
 *
 * @param create makes the collector; its parameter gives the current line from 1
 */
export function createDocumentReader<T, D extends XmlDocument<T>>(
  create: (line: () => number) => D,
): FileReader<T> & { readonly document: D } {
  const document = create(() => reader.line());
  const reader = createXmlReader(document);
  return {
    document,
    write(bytes) {
      reader.write(bytes);
      return document.take();
    },
    end() {
      reader.end();
      return document.take();
    },
  };
}
