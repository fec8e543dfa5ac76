import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import type { FileReader } from '../file-codec.ts';
import { createDocumentReader, XmlDocument, type XmlElement } from '../xml/xml-reader.ts';
import { CODE_POINT_TYPE, type TmxUnit, TMX_PROPERTIES, readProvenance } from './tmx-record.ts';
import { isSameLanguage } from '../../domain/text/language-tag.ts';
import type { MemoryState } from '../../domain/memory/memory-record.ts';
import { MEMORY_STATES } from '../../contract/schemas/vocabulary.ts';

/** Elements that only mark a part of a text. */
const TRANSPARENT = new Set(['hi', 'sub']);
/** Elements that hold a code of the document that the text comes from: their contents belong to the text. */
const CODES = new Set(['bpt', 'ept', 'it', 'ph', 'ut']);

/**
 * Makes a reader of TMX 1.1 to 1.4b. Where any language can be the source, it is the wanted one, else the first one. The codes
 * within inline elements are part of the text; a unit with an inline element that has none is a problem, since its text would lose
 * something. Elements of other namespaces are left out.
 */
export function createTmxReader(wantedSource: string): FileReader<TmxUnit> {
  return createDocumentReader((line) => new TmxDocument(wantedSource, line));
}

interface OpenText {
  readonly role: 'seg' | 'prop';
  readonly type: string;
  /** Open inline elements: whether each has contents, or is a character by its number. */
  readonly inline: { readonly name: string; readonly isCodePoint: boolean; readonly start: number }[];
  text: string;
}

class TmxDocument extends XmlDocument<TmxUnit> {
  readonly #wantedSource: string;
  #hasRoot = false;
  #sourceLanguage: string | null = null;
  #unit: TmxUnitBuilder | null = null;
  #text: OpenText | null = null;
  /** Open elements whose contents are left out. */
  #skipped = 0;

  constructor(wantedSource: string, line: () => number) {
    super(line);
    this.#wantedSource = wantedSource;
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
    if (text !== null && this.#skipped === 0) text.text = this.bounded(text.text + part);
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
      this.refuse('structure_invalid', `the document is ${JSON.stringify(name.slice(0, 40))}, not tmx`);
    }
    const version = attributes.get('version') ?? '';
    if (!version.startsWith('1.')) {
      this.refuse(
        'structure_invalid',
        `version ${JSON.stringify(version.slice(0, 40))} of TMX is not known; use 1.4`,
      );
    }
    this.#hasRoot = true;
  }

  #openUnit(element: XmlElement): void {
    if (this.#unit !== null) this.refuse('structure_invalid', 'a unit is within a unit');
    const stated = element.attributes.get('srclang') ?? this.#sourceLanguage ?? ANY_LANGUAGE;
    this.#unit = new TmxUnitBuilder(element, stated.trim(), this.#wantedSource);
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
    if (closed.isCodePoint) text.text = text.text.slice(0, closed.start) + this.characterOf(content);
    else if (content === '' && CODES.has(closed.name)) {
      this.#unit?.refuse(`its text has an empty element "${closed.name}", whose code is not in the file`);
    }
  }

  #finishUnit(): void {
    if (this.#unit !== null) this.add(this.#unit.finish());
    this.#unit = null;
  }
}

interface Variant {
  readonly language: string;
  text: string | null;
}

const MAX_PARTS = 100;
/** The source language of a document whose units have any. */
const ANY_LANGUAGE = '*all*';

class TmxUnitBuilder {
  readonly #element: XmlElement;
  readonly #sourceLanguage: string;
  readonly #wantedSource: string;
  readonly #variants: Variant[] = [];
  readonly #properties = new Map<string, string>();
  #variant: Variant | null = null;
  #problem: string | null = null;

  /** @param sourceLanguage of the unit; `*all*` for any of its languages */
  constructor(element: XmlElement, sourceLanguage: string, wantedSource: string) {
    this.#element = element;
    this.#sourceLanguage = sourceLanguage;
    this.#wantedSource = wantedSource;
  }

  beginVariant(language: string): void {
    this.#limit(this.#variants.length, 'languages');
    this.#variant = { language, text: null };
    this.#variants.push(this.#variant);
  }

  endVariant(): void {
    this.#variant = null;
  }

  setText(text: string): void {
    if (this.#variant !== null) this.#variant.text = text;
  }

  /** Properties of one language are left out. */
  addProperty(type: string, value: string): void {
    if (this.#variant !== null) return;
    this.#limit(this.#properties.size, 'properties');
    this.#properties.set(type, value);
  }

  refuse(message: string): void {
    this.#problem ??= message;
  }

  finish(): TmxUnit {
    const { line } = this.#element;
    const source = this.#source();
    const targets = this.#variants.filter((variant) => variant !== source);
    if (source === undefined)
      this.refuse(`the unit has no text in its source language "${this.#sourceLanguage.slice(0, 40)}"`);
    else if (targets.length === 0) this.refuse('the unit has no translation');
    if (this.#variants.some(({ language, text }) => language === '' || text === null)) {
      this.refuse('a text of the unit has no language or no "seg"');
    }
    if (this.#problem !== null || source === undefined) {
      return { kind: 'problem', line, message: this.#problem ?? '' };
    }
    const shared = {
      ...this.#values(),
      source_language: source.language,
      source_text: source.text ?? '',
      line,
    };
    const records = targets.map(({ language, text }, index) => ({
      ...shared,
      // Records of one unit must not share an id.
      record_id: index === 0 ? (this.#element.attributes.get('tuid') ?? null) : null,
      target_language: language,
      target_text: text ?? '',
    }));
    return { kind: 'records', records };
  }

  #source(): Variant | undefined {
    const isAny = this.#sourceLanguage.toLowerCase() === ANY_LANGUAGE;
    const wanted = (isAny ? this.#wantedSource : this.#sourceLanguage).toLowerCase();
    return (
      this.#variants.find(({ language }) => language.toLowerCase() === wanted) ??
      this.#variants.find(({ language }) => isSameLanguage(language, wanted)) ??
      (isAny ? this.#variants[0] : undefined)
    );
  }

  #values() {
    const beginning = TMX_PROPERTIES.context;
    const context = [...this.#properties]
      .filter(([type]) => type.startsWith(beginning))
      .map(([type, value]): [string, string] => [type.slice(beginning.length), value]);
    const state = this.#properties.get(TMX_PROPERTIES.state);
    return {
      state: MEMORY_STATES.find((known): known is MemoryState => known === state) ?? null,
      context: Object.fromEntries(context),
      provenance: readProvenance((name) => this.#properties.get(TMX_PROPERTIES.provenance + name) ?? null),
      reviewer: this.#element.attributes.get('creationid') ?? null,
    };
  }

  #limit(count: number, parts: string): void {
    if (count < MAX_PARTS) return;
    const message = `a unit has more than ${MAX_PARTS} ${parts}`;
    throw new ExchangeFileError('limit_exceeded', message, this.#element.line);
  }
}
