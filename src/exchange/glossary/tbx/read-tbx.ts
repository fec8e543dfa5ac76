import type { LanguagePair, ReviewStatus } from '../../../domain/glossary/term.ts';
import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { MAX_TEXT_CHARACTERS } from '../../../contract/formats/text-limit.ts';
import { createDocumentReader, XmlDocument, type XmlElement } from '../../xml/xml-reader.ts';
import {
  type ReadTermResult,
  MAX_TERM_PARTS,
  priorityOf,
  type ReadTerm,
} from '../../../contract/formats/glossary/read-term.ts';
import type { FileReader } from '../../file-codec.ts';
import { TBX_MODULES, TBX_NAMESPACES, TBX_CATEGORIES, TBX_REVIEW_STATES, TBX_STATUS } from './tbx-names.ts';
import { isSameLanguage } from '../../../domain/text/language-tag.ts';

const ENTRIES = new Set(['termEntry', 'conceptEntry']);
const LANGUAGES = new Set(['langSet', 'langSec']);
const TERMS = new Set(['tig', 'ntig', 'termSec']);
/** Elements that only group others, or whose contents lead to entries. */
const GROUPS = new Set(['text', 'body', 'termGrp', 'adminGrp', 'descripGrp', 'termNoteGrp', 'transacGrp']);
/** Elements whose data category is in their attribute `type`. */
const TYPED = new Set(['descrip', 'admin', 'termNote']);

/**
 * Makes a reader of TBX of version 2 (`martif`) and 3 (`tbx`), in both of its styles, for one pair of languages.
 * Data categories other than those of terms are left out.
 */
export function createTbxReader(pair: LanguagePair): FileReader<ReadTermResult> {
  return createDocumentReader<ReadTermResult, TbxDocument>((line) => new TbxDocument(pair, line));
}

interface OpenText {
  /** `term`, or the data category. */
  readonly type: string;
  depth: number;
  text: string;
}

class TbxDocument extends XmlDocument<ReadTermResult> {
  readonly #pair: LanguagePair;
  #hasRoot = false;
  #entry: TbxEntry | null = null;
  #text: OpenText | null = null;
  /** Open elements whose contents are left out. */
  #skipped = 0;

  constructor(pair: LanguagePair, line: () => number) {
    super(line);
    this.#pair = pair;
  }

  open(element: XmlElement): void {
    if (!this.#hasRoot) this.#openRoot(element);
    else if (this.#skipped > 0) this.#skipped += 1;
    else if (this.#text !== null) this.#text.depth += 1;
    else this.#openPart(element);
  }

  text(part: string): void {
    const text = this.#text;
    if (text === null || this.#skipped > 0) return;
    text.text += part;
    if (text.text.length <= MAX_TEXT_CHARACTERS) return;
    this.refuse('limit_exceeded', `a text has more than ${MAX_TEXT_CHARACTERS} characters`);
  }

  close(name: string): void {
    const text = this.#text;
    if (this.#skipped > 0) this.#skipped -= 1;
    else if (text !== null && text.depth > 0) text.depth -= 1;
    else if (text !== null) {
      if (text.type === 'term') this.#entry?.setTerm(text.text);
      else this.#entry?.addValue(text.type, text.text);
      this.#text = null;
    } else if (TERMS.has(name)) this.#entry?.endTerm();
    else if (LANGUAGES.has(name)) this.#entry?.endLanguage();
    else if (ENTRIES.has(name) && this.#entry !== null) {
      this.add(this.#entry.finish(this.#pair));
      this.#entry = null;
    }
  }

  #openRoot({ name, namespace }: XmlElement): void {
    if ((name !== 'martif' && name !== 'tbx') || !TBX_NAMESPACES.has(namespace)) {
      this.refuse('structure_invalid', `the document is ${JSON.stringify(name.slice(0, 40))}, not TBX`);
    }
    this.#hasRoot = true;
  }

  #openPart({ name, namespace, attributes, line }: XmlElement): void {
    const entry = this.#entry;
    if (namespace.startsWith(TBX_MODULES)) this.#openText(name);
    else if (!TBX_NAMESPACES.has(namespace)) this.#skipped = 1;
    else if (ENTRIES.has(name)) {
      if (entry !== null) this.refuse('structure_invalid', 'an entry is within an entry');
      this.#entry = new TbxEntry(attributes.get('id') ?? null, line);
    } else if (GROUPS.has(name)) return;
    else if (entry === null) this.#skipped = 1;
    else if (LANGUAGES.has(name)) entry.beginLanguage(attributes.get('xml:lang') ?? '');
    else if (TERMS.has(name)) entry.beginTerm();
    else if (name === 'term' || name === 'note') this.#openText(name);
    else if (TYPED.has(name)) this.#openText(attributes.get('type') ?? '');
    else this.#skipped = 1;
  }

  #openText(type: string): void {
    if (this.#entry === null) this.#skipped = 1;
    else this.#text = { type, depth: 0, text: '' };
  }
}

interface NamedTerm {
  text: string | null;
  status: string;
}

interface Language {
  readonly tag: string;
  readonly terms: NamedTerm[];
}

const MAX_LANGUAGES = 100;

class TbxEntry {
  readonly #id: string | null;
  readonly #line: number;
  readonly #languages: Language[] = [];
  readonly #values = new Map<string, string>();
  #language: Language | null = null;
  #term: NamedTerm | null = null;

  constructor(id: string | null, line: number) {
    this.#id = id;
    this.#line = line;
  }

  beginLanguage(tag: string): void {
    this.#limit(this.#languages.length, MAX_LANGUAGES, 'languages');
    this.#language = { tag, terms: [] };
    this.#languages.push(this.#language);
  }

  endLanguage(): void {
    this.#language = null;
  }

  beginTerm(): void {
    if (this.#language === null) return;
    this.#limit(this.#language.terms.length, MAX_TERM_PARTS, 'terms of one language');
    this.#term = { text: null, status: '' };
    this.#language.terms.push(this.#term);
  }

  endTerm(): void {
    this.#term = null;
  }

  setTerm(text: string): void {
    if (this.#term !== null) this.#term.text ??= text;
  }

  /** Keeps a value of the entry, or the status of the open term; other values of languages and terms are left out. */
  addValue(type: string, value: string): void {
    if (this.#term !== null && type === TBX_CATEGORIES.status) this.#term.status = value;
    if (this.#language !== null) return;
    this.#limit(this.#values.size, 4 * MAX_TERM_PARTS, 'values');
    if (!this.#values.has(type)) this.#values.set(type, value);
  }

  finish({ sourceLanguage, targetLanguage }: LanguagePair): ReadTermResult {
    const line = this.#line;
    const source = this.#termsIn(sourceLanguage);
    const target = this.#termsIn(targetLanguage);
    if (source.length === 0) return { kind: 'other', line };
    if ([...source, ...target].some(({ text }) => text === null)) {
      return { kind: 'problem', line, message: 'a term of the entry has no text' };
    }
    const priority = priorityOf(this.#values.get(TBX_CATEGORIES.priority) ?? '0');
    if (priority === null) return { kind: 'problem', line, message: 'the priority is not a whole number' };
    return { kind: 'term', line, term: { ...this.#fields(source, target), priority } };
  }

  #fields(source: readonly NamedTerm[], target: readonly NamedTerm[]): Omit<ReadTerm, 'priority'> {
    const [sourceTerm = '', ...aliases] = byStatus(source);
    const isDeprecated = target.length > 0 && target.every(isDeprecatedTerm);
    // Wordings that must not be used are left out, unless the whole term is deprecated.
    const usable = isDeprecated ? target : target.filter((term) => !isDeprecatedTerm(term));
    const [recommended = '', ...allowed] = byStatus(usable);
    return {
      term_id: this.#values.get(TBX_CATEGORIES.termId) ?? this.#id,
      source_term: sourceTerm,
      aliases,
      recommended_translation: recommended,
      allowed_translations: allowed,
      category: this.#values.get(TBX_CATEGORIES.subject) ?? '',
      scope: this.#scope(),
      review_status: this.#status(isDeprecated),
      source_ref: this.#values.get(TBX_CATEGORIES.source) ?? null,
      source_author: this.#values.get(TBX_CATEGORIES.author) ?? null,
      source_note: this.#values.get('note') ?? null,
    };
  }

  #termsIn(language: string): readonly NamedTerm[] {
    const exact = this.#languages.find(({ tag }) => tag.toLowerCase() === language.toLowerCase());
    return (exact ?? this.#languages.find(({ tag }) => isSameLanguage(tag, language)))?.terms ?? [];
  }

  #scope(): Readonly<Record<string, string>> {
    const entries = [...this.#values].filter(([type]) => type.startsWith(TBX_CATEGORIES.scope));
    return Object.fromEntries(
      entries.map(([type, value]) => [type.slice(TBX_CATEGORIES.scope.length), value]),
    );
  }

  #status(isDeprecated: boolean): ReviewStatus | null {
    const own = this.#values.get(TBX_CATEGORIES.reviewStatus);
    return TBX_REVIEW_STATES.find((status) => status === own) ?? (isDeprecated ? 'deprecated' : null);
  }

  #limit(count: number, most: number, parts: string): void {
    if (count < most) return;
    throw new ExchangeFileError('limit_exceeded', `an entry has more than ${most} ${parts}`, this.#line);
  }
}

function isDeprecatedTerm({ status }: NamedTerm): boolean {
  return status === TBX_STATUS.deprecated || status === TBX_STATUS.superseded || status === 'deprecated';
}

function byStatus(terms: readonly NamedTerm[]): string[] {
  const first = terms.find(({ status }) => status === TBX_STATUS.preferred || status === 'preferred');
  const ordered = first === undefined ? terms : [first, ...terms.filter((term) => term !== first)];
  return [...new Set(ordered.map(({ text }) => text ?? ''))];
}
