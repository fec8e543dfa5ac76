import { messageOf } from '../../../platform/errors.ts';
import { parseJsonAnswer, type BoundedAnswer } from '../../../platform/http/http-client.ts';
import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import type { MaskedText } from '../../../domain/translation/placeholder-mask.ts';
import { maskUnits, restoredRow } from './answer-rows.ts';
import { translateUntilSettled, type AnswerRows } from './ask-until-settled.ts';
import { failureOfAnswer } from './error-answer.ts';
import { memberOf } from './member-of.ts';
import { ProviderError } from './provider-failure.ts';
import { askOptions, postToProvider, type ProviderHttpOptions } from './provider-http.ts';
import type { TranslationProvider, TranslationRequest, UnitToTranslate } from './provider.ts';
import { NO_USAGE, addUsage, priced, spend, type RequestEstimate, type Usage } from './spending.ts';

/**
 * Translates with a LibreTranslate server: arrays in, arrays out. It knows no glossary, no context and no length.
 *
 * Source: docs.libretranslate.com, "API usage".
 */
export function createLibreTranslateProvider(
  name: string,
  options: ProviderHttpOptions,
): TranslationProvider {
  const { config } = options;
  const { limits, prices, mask: style } = config;
  const size = { units: limits.batchUnits, characters: limits.batchCharacters };

  const ask = async (
    request: TranslationRequest,
    units: readonly UnitToTranslate[],
    count: (used: Usage) => void,
  ): Promise<AnswerRows> => {
    const { sendable: lines, failed } = maskUnits(units, style);
    const rows = new Map(failed);
    if (lines.length === 0) return { providerRunId: null, rows };
    const estimate = estimateOf(lines.map(({ unit }) => unit));
    const texts = await spend(
      request.spending,
      estimate,
      prices,
      count,
      async (_longest, { sent, settle }) => {
        const masked = lines.map(({ masked }) => masked);
        const answer = await requestTexts(options, request, masked, estimate.characters, sent);
        settle(priced(estimate, prices));
        return answer;
      },
    );
    for (const [index, { unit, masked }] of lines.entries()) {
      const text = texts[index];
      if (typeof text === 'string') rows.set(unit.unitId, restoredRow(text, masked, style));
    }
    return { providerRunId: null, rows };
  };

  return {
    name,
    kind: 'libretranslate',
    model: null,
    promptDigest: null,
    promptOf: () => null,
    stepSize: size,
    requestsPerUnit: limits.requestsPerUnit,
    fallback: null,
    evaluator: null,
    beginRun: options.breaker.tryAgain,
    estimate: ({ units }) => {
      const usages = [...splitIntoBatches(units, size)].map((batch) => priced(estimateOf(batch), prices));
      return usages.reduce(addUsage, NO_USAGE);
    },
    translateBatch: async (request) => {
      let usage = NO_USAGE;
      const count = (used: Usage): void => {
        usage = addUsage(usage, used);
      };
      const settled = await translateUntilSettled(request.units, askOptions(options, request), (units) =>
        ask(request, units, count),
      );
      return { ...settled, usage };
    },
  };
}

/** Asks for the translations of masked texts. @throws ProviderError; the reason of the signal */
async function requestTexts(
  options: ProviderHttpOptions,
  request: TranslationRequest,
  masked: readonly MaskedText[],
  characters: number,
  sent: () => void,
): Promise<readonly unknown[]> {
  const { secrets, clock } = options;
  const body = {
    q: masked.map(({ text }) => text),
    source: request.sourceLanguage,
    target: request.targetLanguage,
    format: 'text',
  };
  const answer = await postToProvider(options, {
    path: 'translate',
    body: (key) => (key === null ? body : { ...body, api_key: key }),
    keyHeader: false,
    characters,
    signal: request.signal,
    sent,
  });
  if (answer.status >= 300) throw failureOfAnswer(answer, secrets, clock.now());
  const texts = memberOf(parsedAnswer(answer), 'translatedText');
  if (Array.isArray(texts) && texts.length === masked.length) return texts;
  throw new ProviderError('answer_malformed', 'the answer does not have one text for each source');
}

/** @throws ProviderError `answer_malformed` */
function parsedAnswer(answer: BoundedAnswer): unknown {
  try {
    return parseJsonAnswer(answer);
  } catch (cause) {
    throw new ProviderError('answer_malformed', messageOf(cause), { cause });
  }
}

function estimateOf(units: readonly UnitToTranslate[]): RequestEstimate {
  const characters = units.reduce((sum, { sourceText }) => sum + sourceText.length, 0);
  return { promptTokens: 0, answerTokens: 0, characters, longestAnswer: 0 };
}
