import { ExchangeFileError, type ExchangeFileReason } from '../../../contract/formats/exchange-file-error.ts';
import { createDocumentReader, type XmlDocument } from '../../xml/document-reader.ts';
import type { XmlElement } from '../../xml/xml-reader.ts';
import { MAX_TEXT_CHARACTERS } from '../../../contract/formats/text-limit.ts';
import type { ReadResult, UnitLanguages, UnitReader } from '../unit-record.ts';
import { UnitBuilder } from './unit-builder.ts';
import { CODE_POINT_TYPE, XLIFF_ONE, XLIFF_TWO } from './xliff-names.ts';

type TextRole = 'source' | 'target' | 'note' | 'context';

interface OpenText {
  readonly role: TextRole;
  readonly element: XmlElement;
  depth: number;
  text: string;
  /** The number of a character, in a `ph` of ours. */
  codePoint: string | null;
}

/** The elements of each version that hold units or their parts, and whose contents are read. */
const CONTAINERS: Readonly<Record<string, ReadonlySet<string>>> = {
  [XLIFF_ONE]: new Set(['file', 'body', 'group', 'trans-unit', 'context-group']),
  [XLIFF_TWO]: new Set(['file', 'group', 'unit', 'notes', 'segment', 'ignorable']),
};
const UNITS = new Set(['trans-unit', 'unit']);
/** Elements that only mark a part of a text: segments, terms, comments. */
const TRANSPARENT = new Set(['mrk', 'sm', 'em']);

/**
 * Makes a reader of XLIFF 1.2 and of XLIFF 2.0 and 2.1. Modules and extensions are left out. The texts of the segments of
 * a unit are joined. A unit with inline elements other than marks and characters is a problem, since its text would lose
 * them.
 */
export function createXliffReader(): UnitReader {
  const reader = createDocumentReader<ReadResult, XliffDocument>((line) => new XliffDocument(line));
  return { ...reader, languages: () => reader.document.languages };
}

class XliffDocument implements XmlDocument<ReadResult> {
  languages: Partial<UnitLanguages> = {};
  readonly #line: () => number;
  #results: ReadResult[] = [];
  #version: string | null = null;
  #destination: string | null = null;
  #unit: UnitBuilder | null = null;
  #text: OpenText | null = null;
  /** Open elements whose contents are left out. */
  #skipped = 0;

  constructor(line: () => number) {
    this.#line = line;
  }

  take(): ReadResult[] {
    const results = this.#results;
    this.#results = [];
    return results;
  }

  open(element: XmlElement): void {
    if (this.#version === null) this.#openRoot(element);
    else if (this.#skipped > 0) this.#skipped += 1;
    else if (this.#text !== null) this.#openInline(this.#text, element);
    else if (element.namespace !== this.#version) this.#skipped = 1;
    else if (this.#unit !== null && isText(element.name)) {
      this.#text = { role: element.name, element, depth: 0, text: '', codePoint: null };
    } else if (CONTAINERS[this.#version]?.has(element.name) === true) this.#openContainer(element);
    else this.#skipped = 1;
  }

  text(part: string): void {
    const text = this.#text;
    if (text === null || this.#skipped > 0) return;
    if (text.codePoint !== null) text.codePoint = (text.codePoint + part).slice(0, 16);
    else text.text += part;
    if (text.text.length > MAX_TEXT_CHARACTERS) {
      this.#refuse('limit_exceeded', `a text has more than ${MAX_TEXT_CHARACTERS} characters`);
    }
  }

  close(name: string): void {
    const text = this.#text;
    if (this.#skipped > 0) {
      this.#skipped -= 1;
    } else if (text === null) {
      if (UNITS.has(name)) this.#finishUnit();
    } else if (text.depth > 0) {
      text.depth -= 1;
      if (text.codePoint !== null) this.#append(text, text.codePoint);
      text.codePoint = null;
    } else {
      this.#unit?.take(text.role, text.text, text.element.attributes);
      this.#text = null;
    }
  }

  #openRoot({ name, namespace, attributes }: XmlElement): void {
    if (name !== 'xliff') {
      this.#refuse('structure_invalid', `the document is ${JSON.stringify(name.slice(0, 40))}, not xliff`);
    }
    if (namespace !== XLIFF_ONE && namespace !== XLIFF_TWO) {
      this.#refuse('structure_invalid', 'the document is neither XLIFF 1.2 nor 2.1');
    }
    this.#version = namespace;
    this.languages = languagesOf(attributes.get('srcLang'), attributes.get('trgLang'));
  }

  #openContainer(element: XmlElement): void {
    const { name, attributes } = element;
    if (name === 'file') this.#openFile(attributes);
    if (UNITS.has(name)) {
      if (this.#unit !== null) this.#refuse('structure_invalid', 'a unit is within a unit');
      this.#unit = new UnitBuilder(element, this.#destination);
    }
    if (name === 'segment' || name === 'ignorable') {
      if (this.#unit === null) this.#refuse('structure_invalid', 'a segment is outside of a unit');
      this.#unit.beginSegment(name === 'segment', attributes);
    }
  }

  #openFile(attributes: XmlElement['attributes']): void {
    this.#destination = attributes.get('original') ?? null;
    if (this.#version !== XLIFF_ONE) return;
    this.languages = languagesOf(attributes.get('source-language'), attributes.get('target-language'));
  }

  #openInline(text: OpenText, { name, namespace, attributes }: XmlElement): void {
    text.depth += 1;
    const isOwn = namespace === this.#version;
    if (isOwn && name === 'cp') this.#append(text, attributes.get('hex') ?? '');
    else if (isOwn && name === 'ph' && attributes.get('ctype') === CODE_POINT_TYPE) text.codePoint = '';
    else if (!isOwn || !TRANSPARENT.has(name)) this.#unit?.refuseInline(name);
  }

  #append(text: OpenText, hex: string): void {
    const codePoint = /^[0-9A-Fa-f]{2,8}$/.test(hex) ? Number.parseInt(hex, 16) : Infinity;
    if (codePoint > 0x10_ffff) {
      const message = `${JSON.stringify(hex.slice(0, 40))} is not the number of a character`;
      this.#refuse('structure_invalid', message);
    }
    text.text += String.fromCodePoint(codePoint);
  }

  #finishUnit(): void {
    if (this.#unit !== null) this.#results.push(this.#unit.finish());
    this.#unit = null;
  }

  #refuse(reason: ExchangeFileReason, message: string): never {
    throw new ExchangeFileError(reason, message, this.#line());
  }
}

function isText(name: string): name is TextRole {
  return name === 'source' || name === 'target' || name === 'note' || name === 'context';
}

function languagesOf(source: string | undefined, target: string | undefined): Partial<UnitLanguages> {
  return {
    ...(source === undefined ? {} : { sourceLanguage: source }),
    ...(target === undefined ? {} : { targetLanguage: target }),
  };
}
