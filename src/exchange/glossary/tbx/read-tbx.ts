import type { LanguagePair, ReviewStatus } from '../../../domain/glossary/term.ts';
import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { createDocumentReader, XmlDocument, type XmlElement } from '../../xml/xml-reader.ts';
import {
  type ReadTermResult,
  MAX_TERM_PARTS,
  priorityOf,
  type ReadTerm,
  type TermRemark,
} from '../../../contract/formats/glossary/read-term.ts';
import type { FileReader } from '../../file-codec.ts';
import { isTbxNamespace, TBX_MODULES, TBX_CATEGORIES, TBX_REVIEW_STATES } from './tbx-names.ts';
import { combinedStanding, isStatusCategory, standingOf, type TermStanding } from './tbx-status.ts';
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
    if (text !== null && this.#skipped === 0) text.text = this.bounded(text.text + part);
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
    if ((name !== 'martif' && name !== 'tbx') || !isTbxNamespace(namespace)) {
      const found = JSON.stringify(name.slice(0, 40));
      this.refuse('structure_invalid', `the document is ${found}, not TBX of version 2 (martif) or 3 (tbx)`);
    }
    this.#hasRoot = true;
  }

  #openPart({ name, namespace, attributes, line }: XmlElement): void {
    const entry = this.#entry;
    if (namespace.startsWith(TBX_MODULES)) this.#openText(name);
    else if (!isTbxNamespace(namespace)) this.#openState(name, attributes.get('value'));
    else if (ENTRIES.has(name)) {
      if (entry !== null) this.refuse('structure_invalid', 'an entry is within an entry');
      this.#entry = new TbxEntry(attributes.get('id') ?? null, line);
    } else if (GROUPS.has(name)) return;
    else if (entry === null) this.#skipped = 1;
    else if (LANGUAGES.has(name)) entry.beginLanguage(attributes.get('xml:lang') ?? '');
    else if (TERMS.has(name)) entry.beginTerm();
    else if (name === 'term' || name === 'note') this.#openText(name);
    else if (TYPED.has(name)) this.#openText(attributes.get('type') ?? '');
    else this.#openState(name, attributes.get('value'));
  }

  /**
   * Opens an element that is a state: a module of a company can have one, which forbids a wording like any other. Others are left out.
   *
   * @param value of an element that has its value in an attribute
   */
  #openState(name: string, value = ''): void {
    if (isStatusCategory(name)) this.#openText(name, value);
    else this.#skipped = 1;
  }

  #openText(type: string, value = ''): void {
    if (this.#entry === null) this.#skipped = 1;
    else this.#text = { type, depth: 0, text: value };
  }
}

interface NamedTerm {
  text: string | null;
  readonly states: TermState[];
}

/** A state that a file gives a term, a language or an entry. */
interface TermState {
  readonly value: string;
  readonly standing: TermStanding;
}

interface Language {
  readonly tag: string;
  readonly terms: NamedTerm[];
  readonly states: TermState[];
}

/** A wording with all that the file says about its use. */
interface Wording {
  readonly text: string;
  readonly standing: TermStanding;
  /** The states as the file writes them. */
  readonly marks: readonly string[];
}

const MAX_LANGUAGES = 100;

class TbxEntry {
  readonly #id: string | null;
  readonly #line: number;
  readonly #languages: Language[] = [];
  readonly #states: TermState[] = [];
  readonly #values = new Map<string, string>();
  #language: Language | null = null;
  #term: NamedTerm | null = null;

  constructor(id: string | null, line: number) {
    this.#id = id;
    this.#line = line;
  }

  beginLanguage(tag: string): void {
    this.#limit(this.#languages.length, MAX_LANGUAGES, 'languages');
    this.#language = { tag, terms: [], states: [] };
    this.#languages.push(this.#language);
  }

  endLanguage(): void {
    this.#language = null;
  }

  beginTerm(): void {
    if (this.#language === null) return;
    this.#limit(this.#language.terms.length, MAX_TERM_PARTS, 'terms of one language');
    this.#term = { text: null, states: [] };
    this.#language.terms.push(this.#term);
  }

  endTerm(): void {
    this.#term = null;
  }

  setTerm(text: string): void {
    if (this.#term !== null) this.#term.text ??= onOneLine(text);
  }

  /** Keeps a state, or a value of the entry; other values of languages and terms are left out. */
  addValue(type: string, value: string): void {
    if (isStatusCategory(type)) {
      const { states } = this.#term ?? this.#language ?? { states: this.#states };
      this.#limit(states.length, MAX_TERM_PARTS, 'states of one term');
      states.push({ value: value.replaceAll(/\s+/g, ' ').trim(), standing: standingOf(type, value) });
    }
    if (this.#language !== null) return;
    this.#limit(this.#values.size, 4 * MAX_TERM_PARTS, 'values');
    if (!this.#values.has(type)) this.#values.set(type, value);
  }

  finish(pair: LanguagePair): ReadTermResult {
    const line = this.#line;
    const source = this.#termsIn(pair.sourceLanguage);
    const target = this.#termsIn(pair.targetLanguage) ?? this.#noTermsIn(pair.targetLanguage);
    if (source === null || target === null) {
      return { kind: 'other', line, languages: this.#languages.map(({ tag }) => tag) };
    }
    if ([...source, ...target].some(({ text }) => text === null)) {
      return { kind: 'problem', line, message: 'a term of the entry has no text' };
    }
    const priority = priorityOf(this.#values.get(TBX_CATEGORIES.priority) ?? '0');
    if (priority === null) return { kind: 'problem', line, message: 'the priority is not a whole number' };
    const [sources, targets] = [source.map(wordingOf), target.map(wordingOf)];
    const unwanted = targets.filter(({ standing }) => standing === 'unwanted');
    const usable = targets.filter(({ standing }) => standing !== 'unwanted' && standing !== 'unknown');
    const isDeprecated = usable.length === 0 && unwanted.length > 0;
    const taken = isDeprecated ? unwanted : usable;
    const remarks = targets.filter((each) => !taken.includes(each)).map(leftOut);
    if (taken.length === 0 && remarks.length > 0) {
      return { kind: 'left_out', line, message: remarks.map(({ message }) => message).join('; ') };
    }
    return { kind: 'term', line, term: { ...this.#fields(sources, taken, isDeprecated), priority }, remarks };
  }

  #fields(
    sources: readonly Wording[],
    targets: readonly Wording[],
    isDeprecated: boolean,
  ): Omit<ReadTerm, 'priority'> {
    // A text can have any wording of the source, also one that is deprecated.
    const [sourceTerm = '', ...aliases] = inOrder(sources);
    const [recommended = '', ...allowed] = inOrder(targets);
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

  /** The terms of a language with all their states; `null` when the entry has none. */
  #termsIn(wanted: string): NamedTerm[] | null {
    const exact = this.#languages.find(({ tag }) => tag.toLowerCase() === wanted.toLowerCase());
    const found = exact ?? this.#languages.find(({ tag }) => isSameLanguage(tag, wanted));
    const terms = this.#languages
      .filter(({ tag }) => tag === found?.tag)
      .flatMap((language) =>
        language.terms.map(({ text, states }) => ({
          text,
          states: [...states, ...language.states, ...this.#states],
        })),
      );
    return terms.length === 0 ? null : terms;
  }

  /** No terms where our own file says that the term has no translation yet. */
  #noTermsIn(wanted: string): NamedTerm[] | null {
    const tag = this.#values.get(TBX_CATEGORIES.targetLanguage);
    return tag !== undefined && isSameLanguage(tag, wanted) ? [] : null;
  }

  #scope(): Readonly<Record<string, string>> {
    const entries = [...this.#values].filter(([type]) => type.startsWith(TBX_CATEGORIES.scope));
    return Object.fromEntries(
      entries.map(([type, value]) => [type.slice(TBX_CATEGORIES.scope.length), value]),
    );
  }

  #status(isDeprecated: boolean): ReviewStatus | null {
    // A tool that forbids the only wording leaves the status of our export as it was.
    if (isDeprecated) return 'deprecated';
    const own = this.#values.get(TBX_CATEGORIES.reviewStatus)?.trim();
    return TBX_REVIEW_STATES.find((status) => status === own) ?? null;
  }

  #limit(count: number, most: number, parts: string): void {
    if (count < most) return;
    throw new ExchangeFileError('limit_exceeded', `an entry has more than ${most} ${parts}`, this.#line);
  }
}

/** The order in which wordings are recommended; those with the same state stay in that of the file. */
const ORDER: readonly (readonly TermStanding[])[] = [
  ['preferred'],
  ['admitted', 'unmarked'],
  ['unwanted', 'unknown'],
];

function inOrder(wordings: readonly Wording[]): string[] {
  const ordered = ORDER.flatMap((standings) =>
    wordings.filter(({ standing }) => standings.includes(standing)),
  );
  return [...new Set(ordered.map(({ text }) => text))];
}

function wordingOf({ text, states }: NamedTerm): Wording {
  return {
    text: text ?? '',
    standing: combinedStanding(states.map(({ standing }) => standing)),
    marks: [...new Set(states.map(({ value }) => value))],
  };
}

function leftOut({ text, standing, marks }: Wording): TermRemark {
  const states = JSON.stringify(marks.join(', ').slice(0, 60).toWellFormed());
  const wording = JSON.stringify(text.slice(0, 60).toWellFormed());
  const why = standing === 'unknown' ? 'has a state that is not known' : 'must not be used';
  return { kind: 'wording_left_out', message: `the wording ${wording} ${why}: ${states}; it is left out` };
}

/** A wording without the line breaks by which programs format a file. */
function onOneLine(text: string): string {
  return /[\n\r\t]/.test(text) ? text.replaceAll(/\s*[\n\r\t]\s*/g, ' ').trim() : text;
}
