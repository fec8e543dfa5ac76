import type { MemoryState } from '../../domain/memory/memory-record.ts';
import { MEMORY_STATES } from '../../contract/schemas/vocabulary.ts';
import { ExchangeFileError } from '../../contract/formats/exchange-file-error.ts';
import type { XmlElement } from '../xml/xml-reader.ts';
import { TMX_PROPERTIES, TMX_PROVENANCE, type TmxUnit } from './tmx-record.ts';

interface Variant {
  readonly language: string;
  text: string | null;
}

const MAX_PARTS = 100;
/** The source language of a document whose units have any. */
const ANY_LANGUAGE = '*all*';

/** Collects the parts of one `tu` element. */
export class TmxUnitBuilder {
  readonly #element: XmlElement;
  readonly #sourceLanguage: string;
  readonly #variants: Variant[] = [];
  readonly #properties = new Map<string, string>();
  #variant: Variant | null = null;
  #problem: string | null = null;

  /** @param sourceLanguage of the unit; `*all*` for the first of its languages */
  constructor(element: XmlElement, sourceLanguage: string) {
    this.#element = element;
    this.#sourceLanguage = sourceLanguage.toLowerCase();
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
    const source =
      this.#sourceLanguage === ANY_LANGUAGE
        ? this.#variants[0]
        : this.#variants.find(({ language }) => language.toLowerCase() === this.#sourceLanguage);
    const targets = this.#variants.filter((variant) => variant !== source);
    if (source === undefined)
      this.refuse(`the unit has no text in its source language "${this.#sourceLanguage}"`);
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

  #values() {
    const beginning = TMX_PROPERTIES.context;
    const context = [...this.#properties]
      .filter(([type]) => type.startsWith(beginning))
      .map(([type, value]): [string, string] => [type.slice(beginning.length), value]);
    const [provider, provider_run_id, task_id, unit_id, release_id] = TMX_PROVENANCE.map(
      (name) => this.#properties.get(TMX_PROPERTIES.provenance + name) ?? null,
    );
    const state = this.#properties.get(TMX_PROPERTIES.state);
    return {
      state: MEMORY_STATES.find((known): known is MemoryState => known === state) ?? null,
      context: Object.fromEntries(context),
      provenance: {
        provider: provider ?? null,
        provider_run_id: provider_run_id ?? null,
        task_id: task_id ?? null,
        unit_id: unit_id ?? null,
        release_id: release_id ?? null,
      },
      reviewer: this.#element.attributes.get('creationid') ?? null,
    };
  }

  #limit(count: number, parts: string): void {
    if (count < MAX_PARTS) return;
    const message = `a unit has more than ${MAX_PARTS} ${parts}`;
    throw new ExchangeFileError('limit_exceeded', message, this.#element.line);
  }
}
