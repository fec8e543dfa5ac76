import { failure } from '../../../domain/result.ts';
import { maskUnits, restoredRow } from './answer-rows.ts';
import { translateUntilSettled, type AnswerRows } from './ask-until-settled.ts';
import { createLibreServer } from './libretranslate-server.ts';
import { askOptions, type ProviderHttpOptions } from './provider-http.ts';
import {
  NO_MODEL,
  type TranslationProvider,
  type TranslationRequest,
  type UnitToTranslate,
} from './provider.ts';
import { charactersOf, isMaybeCharged, priced, spend, usageOfCharacters, type Usage } from './spending.ts';

const ONE_TEXT = { units: 1, characters: 1 };

/** Translates with a LibreTranslate server, which knows no glossary, no context and no length. */
export function createLibreTranslateProvider(
  name: string,
  options: ProviderHttpOptions,
): TranslationProvider {
  const { config } = options;
  const { limits, prices, mask: style } = config;
  const size = { units: limits.batchUnits, characters: limits.batchCharacters };

  const server = createLibreServer(options);

  const ask = async (
    request: TranslationRequest,
    units: readonly UnitToTranslate[],
    count: (used: Usage) => void,
  ): Promise<AnswerRows> => {
    const { sendable: lines, failed } = maskUnits(units, style);
    const rows = new Map(failed);
    if (lines.length === 0) return { providerRunId: null, rows };
    const estimate = charactersOf(lines.map(({ unit }) => unit));
    const { spending, signal } = request;
    const { characters } = estimate;
    const { answers, trouble } = await spend(
      spending,
      estimate,
      prices,
      count,
      async (_longest, { sent, settle }) => {
        const texts = lines.map(({ masked }) => masked.text);
        const answered = await server.translate(texts, request, { characters, signal, sent });
        const isCharged = answered.trouble !== null && isMaybeCharged(answered.trouble);
        const charged = lines.slice(0, answered.answers.length + (isCharged ? 1 : 0));
        settle(priced(charactersOf(charged.map(({ unit }) => unit)), prices));
        return answered;
      },
    );
    for (const [index, { unit, masked }] of lines.entries()) {
      const answer = answers[index];
      if (answer === undefined) continue;
      if ('failure' in answer) rows.set(unit.unitId, failure(answer.failure));
      else if (typeof answer.text === 'string')
        rows.set(unit.unitId, restoredRow(answer.text, masked, style));
    }
    if (trouble === null) return { providerRunId: null, rows };
    const unitIds = new Set(lines.slice(answers.length).map(({ unit }) => unit.unitId));
    return { providerRunId: null, rows, trouble: { error: trouble, unitIds } };
  };

  return {
    name,
    kind: 'libretranslate',
    ...NO_MODEL,
    stepSize: size,
    requestsPerUnit: limits.requestsPerUnit,
    beginRun: () => {
      server.forgetLanguages();
      options.breaker.tryAgain();
    },
    estimate: ({ units }) => usageOfCharacters(units, server.takesLists() ? size : ONE_TEXT, prices),
    translateBatch: async (request) => {
      const asked = { ...askOptions(options, request), ...(server.takesLists() ? {} : { size: ONE_TEXT }) };
      return await translateUntilSettled(request.units, asked, (units, count) => ask(request, units, count));
    },
  };
}
