import { offeredCode } from '../../../domain/translation/provider-languages.ts';
import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { errorWords, failureOfAnswer } from './error-answer.ts';
import { memberOf } from './member-of.ts';
import { ProviderError, isOfProvider } from './provider-failure.ts';
import { askProvider, jsonOfAnswer, type ProviderHttpOptions } from './provider-http.ts';

interface Call {
  /** Characters of the sources, for the rate limit. */
  readonly characters: number;
  readonly signal: AbortSignal;
  /** Called when a request leaves. @param isFree whether it costs nothing */
  readonly sent: (isFree?: boolean) => void;
}

/** A text, or the failure of this text alone. */
type Answered = { readonly text: unknown } | { readonly failure: ProviderError };

/** Answers in the order of the texts. */
interface Answers {
  readonly answers: readonly Answered[];
  /** Trouble of the provider with the first text that has no answer; those after it were not sent. `null`: all have one. */
  readonly trouble: ProviderError | null;
}

/** A server with the interface of LibreTranslate, and what is known of it. */
interface LibreServer {
  /**
   * Translates texts: in one request, or each in its own when the server takes no lists.
   *
   * @throws ProviderError; the reason of the signal
   */
  translate(texts: readonly string[], languages: LanguagePair, call: Call): Promise<Answers>;
  /** Whether a request may have several texts. */
  takesLists(): boolean;
  /** Reads the languages again with the next request: someone may have installed others. */
  forgetLanguages(): void;
}

/**
 * Makes the client of one server.
 *
 * Source: `app.py` and `language.py` of LibreTranslate; `main.rs` of LTEngine, which takes no lists.
 */
export function createLibreServer(options: ProviderHttpOptions): LibreServer {
  const { secrets, clock } = options;
  let languages: readonly OfferedLanguage[] | null = null;
  let withoutLists = false;

  const codesOf = async (wanted: LanguagePair, call: Call): Promise<Codes> => {
    languages ??= await readLanguages(options, call);
    return chooseCodes(wanted, languages);
  };

  const send = async (q: string | readonly string[], codes: Codes, call: Call): Promise<BoundedAnswer> => {
    const body = { q, ...codes, format: 'text' };
    return await askProvider(options, {
      ...call,
      path: 'translate',
      body: (key) => (key === null ? body : { ...body, api_key: key }),
    });
  };

  /** @returns `null` when the server takes no lists */
  const translateList = async (
    texts: readonly string[],
    codes: Codes,
    call: Call,
  ): Promise<readonly Answered[] | null> => {
    const answer = await send(texts, codes, call);
    if (answer.status >= 300) {
      if (LIST_REFUSED.test(errorWords(answer).words)) return null;
      throw failureOfAnswer(answer, secrets, clock.now());
    }
    const translated = translatedText(answer);
    // Some servers write a list as a text.
    if (typeof translated === 'string') return null;
    if (Array.isArray(translated) && translated.length === texts.length)
      return translated.map((text: unknown) => ({ text }));
    throw new ProviderError('answer_malformed', 'the answer does not have one text for each source');
  };

  const translateOne = async (text: string, codes: Codes, call: Call): Promise<unknown> => {
    const answer = await send(text, codes, call);
    if (answer.status >= 300) throw failureOfAnswer(answer, secrets, clock.now());
    return translatedText(answer);
  };

  return {
    takesLists: () => !withoutLists,
    forgetLanguages: () => {
      languages = null;
    },
    translate: async (texts, wanted, call) => {
      const codes = await codesOf(wanted, call);
      if (!withoutLists) {
        const answers = await translateList(texts, codes, call);
        if (answers !== null) return { answers, trouble: null };
        withoutLists = true;
      }
      const answers: Answered[] = [];
      for (const text of texts) {
        try {
          answers.push({ text: await translateOne(text, codes, { ...call, characters: text.length }) });
        } catch (error) {
          if (!(error instanceof ProviderError)) throw error;
          // What is translated stays.
          if (isOfProvider(error.code)) return { answers, trouble: error };
          answers.push({ failure: error });
        }
      }
      return { answers, trouble: null };
    },
  };
}

/** The words of servers that take one text only: LTEngine, and servers that check with pydantic or zod. */
const LIST_REFUSED =
  /expected a string|(?:valid|expected) string|str type expected|string_type|must be a string|type: sequence|unhashable type: 'list'/;

interface OfferedLanguage {
  readonly code: string;
  /** Codes of the languages into which the server translates; `null` when it does not say. */
  readonly targets: readonly string[] | null;
}

interface Codes {
  readonly source: string;
  readonly target: string;
}

/** @returns none for a server that does not say its languages. @throws ProviderError */
async function readLanguages(
  options: ProviderHttpOptions,
  { signal, sent }: Call,
): Promise<readonly OfferedLanguage[]> {
  const answer = await askProvider(options, {
    method: 'GET',
    path: 'languages',
    characters: 0,
    signal,
    sent: () => {
      sent(true);
    },
  });
  if ([404, 405, 501].includes(answer.status)) return [];
  if (answer.status >= 300) throw failureOfAnswer(answer, options.secrets, options.clock.now());
  const list = jsonOfAnswer(answer);
  if (!Array.isArray(list))
    throw new ProviderError('answer_malformed', 'the answer to /languages is not a list');
  return list.flatMap((language: unknown) => {
    const [code, targets] = [memberOf(language, 'code'), memberOf(language, 'targets')];
    if (typeof code !== 'string') return [];
    const known = Array.isArray(targets) ? targets.filter((target) => typeof target === 'string') : null;
    return { code, targets: known };
  });
}

/** @throws ProviderError `provider_rejected` that names what the server has */
function chooseCodes(
  { sourceLanguage, targetLanguage }: LanguagePair,
  offered: readonly OfferedLanguage[],
): Codes {
  if (offered.length === 0) return { source: sourceLanguage, target: targetLanguage };
  const codes = offered.map(({ code }) => code);
  const source = offeredCode(sourceLanguage, codes);
  if (source === null) throw notOffered(`from "${sourceLanguage}"`, codes);
  const targets = offered.find(({ code }) => code === source)?.targets ?? codes;
  const target = offeredCode(targetLanguage, targets);
  if (target === null) throw notOffered(`from "${source}" into "${targetLanguage}"`, targets);
  return { source, target };
}

const SHOWN_CODES = 60;

function notOffered(what: string, codes: readonly string[]): ProviderError {
  const known = codes
    .slice(0, SHOWN_CODES)
    .map((code) => code.slice(0, 16))
    .join(', ');
  return new ProviderError(
    'provider_rejected',
    `the server does not translate ${what}: it has ${known}; install the language there, or use another provider`,
  );
}

function translatedText(answer: BoundedAnswer): unknown {
  return memberOf(jsonOfAnswer(answer), 'translatedText');
}
