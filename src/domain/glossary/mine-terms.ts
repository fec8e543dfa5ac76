import { closedSquareNames, findMarkup, MASK } from '../text/checks/find-markup.ts';
import { isWrittenWithoutSpaces } from './boundary.ts';

/** How a candidate was found. */
export type CandidateKind = 'speaker' | 'katakana' | 'kanji' | 'mixed' | 'bracketed' | 'capitalised';

/** Words that may be a term. */
export interface TermCandidate {
  readonly form: string;
  readonly kind: CandidateKind;
  /** Texts that have it; of a speaker, the lines. */
  readonly count: number;
  /** Texts with it, each once. */
  readonly contexts: readonly string[];
}

/** Collects candidates from the texts of a release. */
export interface TermMiner {
  add(text: string, speaker: string | null): void;
  /** The candidates with enough texts, the likeliest first: speakers, then by how often and how long they are. */
  candidates(minCount: number): readonly TermCandidate[];
}

interface Found {
  readonly form: string;
  readonly kind: CandidateKind;
  /** Its place in the text. */
  readonly at: number;
  /** Whether the place says that it is a name: a capital inside of a sentence does, one at its beginning does not. */
  readonly isClear: boolean;
}

interface Entry {
  readonly kind: CandidateKind;
  count: number;
  clear: number;
  readonly contexts: string[];
}

/** Candidates in memory; half of them go when there are more: the rarest, and of those the oldest. */
const MOST_ENTRIES = 40_000;
const MOST_CONTEXTS = 3;
const CONTEXT_CHARACTERS = 80;
const SPEAKER_CHARACTERS = 64;
/** Candidates whose parts are compared. */
const MOST_COMPARED = 5000;
/** Of the texts with a part, how many must have the whole for the part to say nothing of its own. */
const NESTED_SHARE = 0.8;
/** Of the texts with a capitalised phrase, how many must have it inside of a sentence. */
const CLEAR_SHARE = 0.2;

/**
 * Creates a miner. Its memory is bounded: with very many different words, rare ones are forgotten, and counted from then on only.
 *
 * @param language of the texts (BCP 47): without spaces between words, runs of katakana and kanji and names in brackets are found;
 * with them, capitalised phrases
 */
export function createTermMiner(language: string, mostEntries = MOST_ENTRIES): TermMiner {
  const entries = new Map<string, Entry>();
  const findIn = isWrittenWithoutSpaces(language)
    ? (text: string) => findRuns(text, isJapanese(language))
    : findPhrases;

  const note = ({ form, kind, at, isClear }: Found, text: string): void => {
    const key = `${kind} ${form}`;
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = { kind, count: 0, clear: 0, contexts: [] };
      entries.set(flat(key), entry);
    }
    entry.count += 1;
    if (isClear) entry.clear += 1;
    if (entry.contexts.length >= MOST_CONTEXTS) return;
    const context = contextAround(text, at, form.length);
    if (!entry.contexts.includes(context)) entry.contexts.push(context);
  };
  const forget = (): void => {
    const rarest = [...entries].toSorted(([, one], [, other]) => one.count - other.count);
    for (const [key] of rarest.slice(0, entries.size - Math.floor(mostEntries / 2))) entries.delete(key);
  };

  return {
    add: (text, speaker) => {
      const name = speaker?.trim() ?? '';
      if (name !== '' && name.length <= SPEAKER_CHARACTERS) {
        note({ form: name, kind: 'speaker', at: 0, isClear: true }, text);
      }
      const plain = withoutMarkup(text);
      const found = new Map(findIn(plain).map((each) => [`${each.kind} ${each.form}`, each]));
      for (const each of found.values()) note(each, plain);
      if (entries.size > mostEntries) forget();
    },
    candidates: (minCount) => {
      const all = [...entries].flatMap(([key, { kind, count, clear, contexts }]) =>
        count >= minCount && clear >= count * CLEAR_SHARE
          ? [{ form: key.slice(kind.length + 1), kind, count, contexts }]
          : [],
      );
      return withoutParts(all.toSorted((one, other) => rank(other) - rank(one)).slice(0, MOST_COMPARED));
    },
  };
}

/** Speakers first. Longer words say more, as in the C-value of Frantzi, Ananiadou and Mima (2000). */
function rank({ kind, count, form }: TermCandidate): number {
  const value = count * Math.log2(1 + Array.from(form).length);
  return kind === 'speaker' ? value + 1e12 : value;
}

/** Leaves out candidates that are nearly always a part of a longer one, and those that another kind has already. */
function withoutParts(candidates: readonly TermCandidate[]): readonly TermCandidate[] {
  const wholes = new Map<string, number>();
  for (const { form, kind, count } of candidates) {
    if (kind === 'speaker') continue;
    for (const part of partsOf(form)) wholes.set(part, Math.max(wholes.get(part) ?? 0, count));
  }
  const seen = new Set<string>();
  return candidates.filter(({ form, kind, count }) => {
    if (seen.has(form)) return false;
    seen.add(form);
    return kind === 'speaker' || (wholes.get(form) ?? 0) < count * NESTED_SHARE;
  });
}

const LONGEST = 24;

/** The shorter parts of a form that are candidates of their own: its words, or of one word its runs of characters. */
function* partsOf(form: string): Generator<string> {
  const words = form.split(' ');
  const [units, joint] = words.length > 1 ? [words, ' '] : [Array.from(form), ''];
  for (let start = 0; start < units.length; start += 1) {
    for (let end = start + 1; end <= Math.min(units.length, start + LONGEST); end += 1) {
      if (end - start < units.length) yield units.slice(start, end).join(joint);
    }
  }
}

function withoutMarkup(text: string): string {
  const options = { tags: true, squareNames: new Set(closedSquareNames(text)), findPlaceholders: undefined };
  return findMarkup(text, options).masked.replaceAll(/\uFFFC+/g, MASK);
}

/** A copy: a part of a text would keep the whole text in memory. */
function flat(text: string): string {
  return Array.from(text).join('');
}

function contextAround(text: string, at: number, length: number): string {
  const from = Math.max(0, at - Math.floor(Math.max(0, CONTEXT_CHARACTERS - length) / 2));
  const part = text.slice(from, from + CONTEXT_CHARACTERS).toWellFormed();
  return flat(part.replaceAll(/[\s\uFFFC]+/gu, ' ').trim());
}

function isJapanese(language: string): boolean {
  return language.split('-', 1)[0]?.toLowerCase() === 'ja';
}

const RUN = /[\p{Script=Katakana}\p{Script=Han}ー・々〆]+/gu;
const KATAKANA = /[\p{Script=Katakana}ー・]+/gu;
const KANJI = /[\p{Script=Han}々〆]+/gu;
const BRACKETED = /[『【《〈]([^『』【】《》〈〉「」。、！？!?\n\uFFFC]{2,16})[』】》〉]/gu;
/** Sounds such as ドキドキ and アアア; ココ is a name. */
const SOUND = /^(?:(.)\1{2,}|(..)\2+)ー?$/u;

function findRuns(text: string, isOfJapan: boolean): readonly Found[] {
  const found: Found[] = [];
  const take = (form: string, kind: CandidateKind, at: number): void => {
    const trimmed = form.replaceAll(/^[ー・]+|・+$/gu, '');
    const { length } = Array.from(trimmed);
    if (length >= 2 && length <= LONGEST && !SOUND.test(trimmed)) {
      found.push({ form: trimmed, kind, at, isClear: true });
    }
  };
  for (const { 1: name = '', index } of text.matchAll(BRACKETED)) take(name.trim(), 'bracketed', index);
  // Chinese has no runs: whole sentences are written in Han characters.
  if (!isOfJapan) return found;
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const katakana = Array.from(run.matchAll(KATAKANA));
    const kanji = Array.from(run.matchAll(KANJI));
    for (const part of katakana) take(part[0], 'katakana', index + part.index);
    for (const part of kanji) take(part[0], 'kanji', index + part.index);
    if (katakana.some(([part]) => part !== '・') && kanji.length > 0) take(run, 'mixed', index);
  }
  return found;
}

const WORD = /\p{L}[\p{L}\p{M}\p{N}'’-]*/gu;
const CAPITAL = /^\p{Lu}/u;
/** Small words inside of names: Sword of Light, Leonardo da Vinci. */
const CONNECTORS: ReadonlySet<string> = new Set([
  'of',
  'the',
  'de',
  'du',
  'des',
  'di',
  'da',
  'del',
  'la',
  'von',
  'van',
]);
const MOST_WORDS = 6;
/** Words of a title that are written small. */
const SMALL_WORD_LETTERS = 3;
/** Characters before a word that tell whether a sentence begins with it. */
const BEFORE_CHARACTERS = 16;
/** What a sentence begins behind. */
const SENTENCE_END = /[.!?…:;"“”„«»()[\]\n\uFFFC-]\s*$/u;

interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Capitalised phrases. Where all words have capitals, as in titles and shouts, capitals say nothing. */
function findPhrases(text: string): readonly Found[] {
  if (!/\p{Ll}/u.test(text)) return [];
  const words = Array.from(text.matchAll(WORD), ({ 0: word, index }): Word => ({
    text: word,
    start: index,
    end: index + word.length,
  }));
  const isTitle = words.every(({ text: word }) => CAPITAL.test(word) || word.length <= SMALL_WORD_LETTERS);
  const found: Found[] = [];
  const take = (phrase: readonly Word[], isClear: boolean): void => {
    const form = phrase.map(({ text: word }) => word.replace(/['’](?:s|S)?$/u, '')).join(' ');
    const at = phrase[0]?.start ?? 0;
    if (form.length > 1 && form.length <= SPEAKER_CHARACTERS)
      found.push({ form, kind: 'capitalised', at, isClear });
  };
  for (let at = 0; at < words.length;) {
    const phrase = phraseAt(words, at, text);
    const [first] = phrase;
    at += Math.max(1, phrase.length);
    if (first === undefined) continue;
    const before = text.slice(Math.max(0, first.start - BEFORE_CHARACTERS), first.start);
    const isFirst = before.trim() === '' || SENTENCE_END.test(before);
    take(phrase, !isFirst && !isTitle);
    // "The Abyss Gate" at the beginning can be "Abyss Gate".
    const rest = phrase.slice(phrase.findIndex(({ text: word }, index) => index > 0 && CAPITAL.test(word)));
    if (isFirst && phrase.length > 1) take(rest, false);
  }
  return found;
}

/** The capitalised words from one on, with small words between them. */
function phraseAt(words: readonly Word[], at: number, text: string): readonly Word[] {
  let end = at;
  for (let next = at; next < words.length && next - at < MOST_WORDS; next += 1) {
    const word = words[next];
    const previous = words[next - 1];
    if (word === undefined) break;
    if (next > at && text.slice(previous?.end ?? 0, word.start) !== ' ') break;
    if (CAPITAL.test(word.text)) end = next + 1;
    else if (next === at || !CONNECTORS.has(word.text)) break;
  }
  return words.slice(at, end);
}
