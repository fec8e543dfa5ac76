import { ExchangeFileError, type ExchangeFileReason } from '../../contract/formats/exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';
import type { FileReader } from '../file-codec.ts';
import { createDocumentReader, type XmlDocument } from '../xml/document-reader.ts';
import type { XmlElement } from '../xml/xml-reader.ts';
import { CODE_POINT_TYPE, type TmxUnit } from './tmx-record.ts';
import { TmxUnitBuilder } from './tmx-unit-builder.ts';

/** Elements that only mark a part of a text. */
const TRANSPARENT = new Set(['hi', 'sub']);
/** Elements that hold a code of the document that the text comes from: their contents belong to the text. */
const CODES = new Set(['bpt', 'ept', 'it', 'ph', 'ut']);

/**
 * Makes a reader of TMX 1.1 to 1.4b. The codes within inline elements are part of the text; a unit with an inline element
 * that has none is a problem, since its text would lose something. Elements of other namespaces are left out.
 */
export function createTmxReader(): FileReader<TmxUnit> {
  return createDocumentReader((line) => new TmxDocument(line));
}

interface OpenText {
  readonly role: 'seg' | 'prop';
  readonly type: string;
  /** Open inline elements: whether each has contents, or is a character by its number. */
  readonly inline: { readonly name: string; readonly isCodePoint: boolean; readonly start: number }[];
  text: string;
}

class TmxDocument implements XmlDocument<TmxUnit> {
  readonly #line: () => number;
  #units: TmxUnit[] = [];
  #hasRoot = false;
  #sourceLanguage: string | null = null;
  #unit: TmxUnitBuilder | null = null;
  #text: OpenText | null = null;
  /** Open elements whose contents are left out. */
  #skipped = 0;

  constructor(line: () => number) {
    this.#line = line;
  }

  take(): TmxUnit[] {
    const units = this.#units;
    this.#units = [];
    return units;
  }

  open(element: XmlElement): void {
    const { name, attributes } = element;
    if (!this.#hasRoot) this.#openRoot(element);
    else if (this.#skipped > 0 || element.namespace !== '') this.#skipped += 1;
    else if (this.#text !== null) this.#openInline(this.#text, element);
    else if (name === 'header') {
      this.#sourceLanguage = attributes.get('srclang') ?? null;
      // Notes and properties of the whole document.
      this.#skipped = 1;
    } else if (name === 'tu') this.#openUnit(element);
    else if (name === 'tuv' && this.#unit !== null) {
      this.#unit.beginVariant(attributes.get('xml:lang') ?? attributes.get('lang') ?? '');
    } else if ((name === 'seg' || name === 'prop') && this.#unit !== null) {
      this.#text = { role: name, type: attributes.get('type') ?? '', inline: [], text: '' };
    } else if (name !== 'body') this.#skipped = 1;
  }

  text(part: string): void {
    const text = this.#text;
    if (text === null || this.#skipped > 0) return;
    text.text += part;
    if (text.text.length <= MAX_TEXT_CHARACTERS) return;
    this.#refuse('limit_exceeded', `a text has more than ${MAX_TEXT_CHARACTERS} characters`);
  }

  close(name: string): void {
    const text = this.#text;
    if (this.#skipped > 0) this.#skipped -= 1;
    else if (text === null) {
      if (name === 'tuv') this.#unit?.endVariant();
      if (name === 'tu') this.#finishUnit();
    } else if (text.inline.length > 0) this.#closeInline(text);
    else {
      if (text.role === 'seg') this.#unit?.setText(text.text);
      else this.#unit?.addProperty(text.type, text.text);
      this.#text = null;
    }
  }

  #openRoot({ name, attributes }: XmlElement): void {
    if (name !== 'tmx') {
      this.#refuse('structure_invalid', `the document is ${JSON.stringify(name.slice(0, 40))}, not tmx`);
    }
    const version = attributes.get('version') ?? '';
    if (!version.startsWith('1.')) {
      this.#refuse(
        'structure_invalid',
        `version ${JSON.stringify(version.slice(0, 40))} of TMX is not known; use 1.4`,
      );
    }
    this.#hasRoot = true;
  }

  #openUnit(element: XmlElement): void {
    if (this.#unit !== null) this.#refuse('structure_invalid', 'a unit is within a unit');
    this.#unit = new TmxUnitBuilder(
      element,
      element.attributes.get('srclang') ?? this.#sourceLanguage ?? '*all*',
    );
  }

  #openInline(text: OpenText, { name, attributes }: XmlElement): void {
    if (!TRANSPARENT.has(name) && !CODES.has(name))
      this.#unit?.refuse(`its text has the element "${name.slice(0, 40)}"`);
    const isCodePoint = name === 'ph' && attributes.get('type') === CODE_POINT_TYPE;
    text.inline.push({ name, isCodePoint, start: text.text.length });
  }

  #closeInline(text: OpenText): void {
    const closed = text.inline.pop();
    if (closed === undefined) return;
    const content = text.text.slice(closed.start);
    if (closed.isCodePoint) text.text = text.text.slice(0, closed.start) + this.#character(content);
    else if (content === '' && CODES.has(closed.name)) {
      this.#unit?.refuse(`its text has an empty element "${closed.name}", whose code is not in the file`);
    }
  }

  #character(hex: string): string {
    const codePoint = /^[0-9A-Fa-f]{2,8}$/.test(hex) ? Number.parseInt(hex, 16) : Infinity;
    if (codePoint <= 0x10_ffff) return String.fromCodePoint(codePoint);
    return this.#refuse(
      'structure_invalid',
      `${JSON.stringify(hex.slice(0, 40))} is not the number of a character`,
    );
  }

  #finishUnit(): void {
    if (this.#unit !== null) this.#units.push(this.#unit.finish());
    this.#unit = null;
  }

  #refuse(reason: ExchangeFileReason, message: string): never {
    throw new ExchangeFileError(reason, message, this.#line());
  }
}
