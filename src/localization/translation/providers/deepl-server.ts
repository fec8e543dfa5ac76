import { deeplPair } from '../../../domain/translation/provider-languages.ts';
import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import { createDeeplGlossaries, type AskDeepl } from './deepl-glossary.ts';
import { errorWords, failureOfAnswer, traceOf } from './error-answer.ts';
import { memberOf } from './member-of.ts';
import { ProviderError } from './provider-failure.ts';
import { askProvider, jsonOfAnswer, type ProviderHttpOptions } from './provider-http.ts';
import type { TranslationRequest } from './provider.ts';

/** Longest body. Source: developers.deepl.com, "Usage and limits". */
const MOST_BYTES = 128 * 1024;

/** The only call that has a price. */
const TRANSLATE = 'v2/translate';

const FREE_HOST = 'api-free.deepl.com';
const PRO_HOST = 'api.deepl.com';

interface DeeplQuestion {
  /** As XML. */
  readonly texts: readonly string[];
  /** The texts around, which DeepL reads and does not translate; blank for none. */
  readonly context: string;
  /** Characters of the sources, for the rate limit. */
  readonly characters: number;
  /** Called when a request leaves. @param isFree whether it costs nothing */
  readonly sent: (isFree: boolean) => void;
}

interface DeeplAnswer {
  /** In the order of the texts; XML. */
  readonly texts: readonly unknown[];
  /** The characters that DeepL bills; `null` when it does not say it. */
  readonly billed: number | null;
  readonly traceId: string | null;
}

/** DeepL with the key of one account. */
interface DeeplServer {
  /** Syncs the glossary, then sends one request. @throws ProviderError; the reason of the signal */
  translate(question: DeeplQuestion, request: TranslationRequest): Promise<DeeplAnswer>;
}

/**
 * Makes the client of DeepL.
 *
 * Source: developers.deepl.com, the API reference: texts by version 2, glossaries by version 3.
 */
export function createDeeplServer(options: ProviderHttpOptions): DeeplServer {
  const { config, secrets, clock } = options;
  const { glossary = 'slipway' } = config;
  const glossaries = glossary === false ? null : createDeeplGlossaries(glossary, options);
  return {
    translate: async (question, request) => {
      const { terms, signal } = request;
      const { texts, characters, sent } = question;
      const ask: AskDeepl = async (method, path, body) => {
        const isFree = path !== TRANSLATE;
        return await askOnce(options, {
          method,
          path,
          body,
          characters: isFree ? 0 : characters,
          signal,
          sent: () => {
            sent(isFree);
          },
        });
      };
      const askTexts = async (): Promise<{
        readonly answer: BoundedAnswer;
        readonly hasGlossary: boolean;
      }> => {
        const wanted = terms === undefined ? null : { languages: request, terms, signal };
        const id = wanted === null || glossaries === null ? null : await glossaries.idOf(wanted, ask);
        const body = { ...bodyOf(question, request, id), ...config.extraBody };
        requireSize(body);
        return { answer: await ask('POST', TRANSLATE, body), hasGlossary: id !== null };
      };
      const first = await askTexts();
      let { answer } = first;
      // Another daemon, or a person, may have deleted the glossary.
      if (
        first.hasGlossary &&
        [400, 404].includes(answer.status) &&
        errorWords(answer).words.includes('glossary')
      ) {
        glossaries?.forget();
        ({ answer } = await askTexts());
      }
      if (answer.status >= 300) throw failureOfAnswer(answer, secrets, clock.now());
      return readAnswer(answer, texts.length);
    },
  };
}

function bodyOf(
  { texts, context }: DeeplQuestion,
  request: TranslationRequest,
  glossaryId: string | null,
): object {
  const { source, target } = deeplPair(request);
  return {
    text: texts,
    source_lang: source,
    target_lang: target,
    tag_handling: 'xml',
    // Accounts differ in their default.
    tag_handling_version: 'v2',
    preserve_formatting: true,
    show_billed_characters: true,
    ...(context === '' ? {} : { context }),
    ...(glossaryId === null ? {} : { glossary_id: glossaryId }),
  };
}

/** @throws ProviderError `request_too_large` for a body that DeepL does not accept */
function requireSize(body: object): void {
  const bytes = Buffer.byteLength(JSON.stringify(body));
  if (bytes <= MOST_BYTES) return;
  const message = `the request has ${bytes} bytes, and DeepL takes ${MOST_BYTES}`;
  throw new ProviderError('request_too_large', message);
}

interface DeeplCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body: object | undefined;
  readonly characters: number;
  readonly signal: AbortSignal;
  readonly sent: () => void;
}

async function askOnce(options: ProviderHttpOptions, { body, ...call }: DeeplCall): Promise<BoundedAnswer> {
  return await askProvider(options, {
    ...call,
    ...(body === undefined ? {} : { body: () => body }),
    keyHeaders: (key) => {
      requireHost(key, new URL(options.config.url ?? '').hostname);
      return { authorization: `DeepL-Auth-Key ${key}` };
    },
  });
}

/** The keys of free accounts end with ":fx", and each plan has its host. @throws ProviderError `provider_credentials` */
function requireHost(key: string, host: string): void {
  const isFree = key.endsWith(':fx');
  const [wrong, right] = isFree ? [PRO_HOST, FREE_HOST] : [FREE_HOST, PRO_HOST];
  if (host !== wrong) return;
  throw new ProviderError(
    'provider_credentials',
    `the key is that of a ${isFree ? 'free' : 'paid'} account; set url to https://${right}, and add ${right} to allowHosts`,
  );
}

/** @throws ProviderError `answer_malformed` */
function readAnswer(answer: BoundedAnswer, count: number): DeeplAnswer {
  const translations = memberOf(jsonOfAnswer(answer), 'translations');
  if (!Array.isArray(translations) || translations.length !== count)
    throw new ProviderError('answer_malformed', 'the answer does not have one translation for each source');
  const billed = translations.map((each) => Number(memberOf(each, 'billed_characters')));
  return {
    texts: translations.map((each) => memberOf(each, 'text')),
    billed: billed.every((each) => Number.isSafeInteger(each) && each >= 0)
      ? billed.reduce((sum, each) => sum + each, 0)
      : null,
    traceId: traceOf(answer),
  };
}
