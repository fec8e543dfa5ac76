import type { LanguagePair, ReviewStatus } from '../../../domain/glossary/term.ts';
import { isSameLanguage } from '../../../domain/text/language-tag.ts';
import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import {
  MAX_TERM_PARTS,
  priorityOf,
  type ReadTerm,
  type ReadTermResult,
} from '../../../contract/formats/glossary/read-term.ts';
import { TBX_CATEGORIES, TBX_REVIEW_STATES, TBX_STATUS } from './tbx-names.ts';

interface NamedTerm {
  text: string | null;
  status: string;
}

interface Language {
  readonly tag: string;
  readonly terms: NamedTerm[];
}

const MAX_LANGUAGES = 100;

/** Collects the parts of one entry of TBX. */
export class TbxEntry {
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
