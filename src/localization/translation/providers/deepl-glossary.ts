import { deeplPair } from '../../../domain/translation/provider-languages.ts';
import type { LanguagePair, TermWording } from '../../../domain/glossary/term.ts';
import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import { errorWords, failureOfAnswer, saidWith } from './error-answer.ts';
import { memberOf } from './member-of.ts';
import { ProviderError } from './provider-failure.ts';
import { jsonOfAnswer, type ProviderHttpOptions } from './provider-http.ts';
import type { GlossaryTerms } from './provider.ts';
import { unlessAborted } from './unless-aborted.ts';

/** Asks DeepL below its URL. */
export type AskDeepl = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
) => Promise<BoundedAnswer>;

interface DeeplGlossaries {
  /**
   * The id of the glossary at DeepL with the terms of a run, which is made when there is none; `null` without terms.
   *
   * @throws ProviderError; the reason of the signal
   */
  idOf(wanted: WantedGlossary, ask: AskDeepl): Promise<string | null>;
  /** DeepL does not have the glossary any more. */
  forget(): void;
}

interface WantedGlossary {
  readonly languages: LanguagePair;
  readonly terms: GlossaryTerms;
  readonly signal: AbortSignal;
}

const DIGEST_CHARACTERS = 16;
/** Of the path of another Glossary in a name, which DeepL bounds. */
const PATH_CHARACTERS = 200;

/** Bounds of DeepL for a glossary. Source: developers.deepl.com, "Managing glossaries". */
const MOST_BYTES = 10 * 1024 ** 2;
const MOST_TERM_BYTES = 1024;
/** Control characters and ends of lines. */
const REFUSED = /[\p{Cc}\u2028\u2029]/u;

/**
 * Mirrors the Glossary to DeepL. The name of a glossary there ends with the digest of its terms, so that every daemon finds it again;
 * after a change of the terms it is recreated, and those that it supersedes are deleted.
 *
 * @param name the beginning of the names; glossaries with another one are left alone
 */
export function createDeeplGlossaries(name: string, options: ProviderHttpOptions): DeeplGlossaries {
  const known = new Map<string, KnownGlossary>();
  let turn: Promise<unknown> = Promise.resolve();

  const keep = async (
    prefix: string,
    title: string,
    dictionary: object,
    terms: readonly TermWording[],
    ask: AskDeepl,
  ): Promise<string | null> => {
    const entries = entriesOf(terms);
    const ours = await glossariesOf(prefix, ask, options);
    const found = ours.find(({ name }) => name === title);
    const superseded = ours.filter((glossary) => glossary !== found);
    if (entries === '') {
      await deleteAll(superseded, ask);
      return null;
    }
    const create = async (): Promise<BoundedAnswer> =>
      await ask('POST', 'v3/glossaries', {
        name: title,
        dictionaries: [{ ...dictionary, entries, entries_format: 'tsv' }],
      });
    if (found !== undefined) {
      await deleteAll(superseded, ask);
      return found.id;
    }
    let created = await create();
    if (isFull(created) && superseded.length > 0) {
      await deleteAll(superseded, ask);
      created = await create();
    } else if (created.status < 300) await deleteAll(superseded, ask);
    const id = memberOf(parsedOrFailed(created, options), 'glossary_id');
    if (typeof id === 'string') return id;
    throw new ProviderError('answer_malformed', 'the answer does not name the glossary that was created');
  };

  return {
    forget: () => {
      known.clear();
    },
    idOf: async ({ languages, terms: { path, read }, signal }, ask) => {
      const { source, target, dictionary } = deeplPair(languages);
      const prefix = `${name} ${source} ${target}${path === null ? '' : ` (${path.slice(-PATH_CHARACTERS)})`} `;
      const titleOf = (terms: readonly TermWording[]): string => `${prefix}${digestOf(terms)}`;
      const now = titleOf(await read());
      const last = known.get(prefix);
      if (last?.title === now) return last.id;
      const work = async (): Promise<string | null> => {
        signal.throwIfAborted();
        // The terms, and what is known, may have changed during the wait.
        const terms = await read();
        const title = titleOf(terms);
        const before = known.get(prefix);
        if (before?.title === title) return before.id;
        const id = await keep(prefix, title, dictionary, terms, ask);
        known.set(prefix, { title, id });
        return id;
      };
      // Two requests at a time would make the same glossary twice.
      const mine = turn.then(work);
      turn = mine.catch(() => undefined);
      return await unlessAborted(mine, signal);
    },
  };
}

interface KnownGlossary {
  /** With the digest of the terms. */
  readonly title: string;
  readonly id: string | null;
}

interface KeptGlossary {
  readonly id: string;
  readonly name: string;
}

async function glossariesOf(
  prefix: string,
  ask: AskDeepl,
  options: ProviderHttpOptions,
): Promise<readonly KeptGlossary[]> {
  const body = parsedOrFailed(await ask('GET', 'v3/glossaries'), options);
  const list = memberOf(body, 'glossaries');
  if (!Array.isArray(list))
    throw new ProviderError('answer_malformed', 'the answer has no list of glossaries');
  return list.flatMap((glossary: unknown) => {
    const [id, name] = [memberOf(glossary, 'glossary_id'), memberOf(glossary, 'name')];
    if (typeof id !== 'string' || typeof name !== 'string' || !name.startsWith(prefix)) return [];
    return /^[0-9a-f]{16}$/.test(name.slice(prefix.length)) ? [{ id, name }] : [];
  });
}

/**
 * Whether an account has no room for another glossary; a free one has room for one. Other trouble is no reason to delete a glossary.
 *
 * Source: DeepL answers 456 with "Too many glossaries", as users of its free accounts report. It also answers 456 when the characters are used up.
 */
function isFull(answer: BoundedAnswer): boolean {
  if (answer.status < 400) return false;
  const { status, words } = errorWords(answer);
  return words.includes('too many glossaries') || (status === 456 && words.includes('glossar'));
}

/** What cannot be deleted is tried again with the next change. */
async function deleteAll(glossaries: readonly KeptGlossary[], ask: AskDeepl): Promise<void> {
  try {
    for (const { id } of glossaries) await ask('DELETE', `v3/glossaries/${encodeURIComponent(id)}`);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
  }
}

/** Reads an answer about glossaries. @throws ProviderError that names the way out when DeepL does not accept the Glossary */
function parsedOrFailed(answer: BoundedAnswer, { secrets, clock }: ProviderHttpOptions): unknown {
  if (answer.status < 300) return jsonOfAnswer(answer);
  const failure = failureOfAnswer(answer, secrets, clock.now());
  // Too many glossaries are trouble of the account, whose characters have nothing to do with them.
  if (!['provider_rejected', 'request_refused', 'provider_account'].includes(failure.code)) throw failure;
  const code = failure.code === 'request_refused' ? 'provider_rejected' : failure.code;
  const message = `DeepL does not accept the Glossary: ${saidWith(answer, secrets)}; "glossary: false" of the provider translates without it`;
  throw new ProviderError(code, message);
}

/** The digests of lists: within a run, equal terms are the same list until the Glossary changes. */
const digests = new WeakMap<readonly TermWording[], string>();

function digestOf(terms: readonly TermWording[]): string {
  const kept = digests.get(terms);
  if (kept !== undefined) return kept;
  const digest = blake3Hex(Buffer.from(entriesOf(terms))).slice(0, DIGEST_CHARACTERS);
  digests.set(terms, digest);
  return digest;
}

/** The entries of a glossary as tab-separated values: each source once, without those that DeepL refuses, up to its bound. */
function entriesOf(terms: readonly TermWording[]): string {
  const lines = new Map<string, string>();
  let bytes = 0;
  for (const { source, target } of terms) {
    if (![source, target].every(isUsable) || lines.has(source)) continue;
    const line = `${source}\t${target}`;
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MOST_BYTES) break;
    lines.set(source, line);
  }
  return [...lines.values()].join('\n');
}

function isUsable(text: string): boolean {
  return text.trim() !== '' && !REFUSED.test(text) && Buffer.byteLength(text) <= MOST_TERM_BYTES;
}
