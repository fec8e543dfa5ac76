import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import { estimateTokens } from '../../../domain/translation/token-estimate.ts';
import { maskUnits, readAnswerRows, TRANSLATION_SCHEMA } from './answer-rows.ts';
import { translateUntilSettled } from './ask-until-settled.ts';
import { createOpenAiChat } from './openai-chat.ts';
import { createOpenAiClassifier } from './openai-classifier.ts';
import { createOpenAiEvaluator } from './openai-evaluator.ts';
import { promptDigest, rulesOf, writePrompt } from './prompt.ts';
import { askOptions, type ProviderHttpOptions } from './provider-http.ts';
import type { TranslationProvider, TranslationSubject, UnitToTranslate } from './provider.ts';

/** Tokens around each line: its id, the repeated beginning, punctuation. */
const TOKENS_PER_LINE = 40;

/** Translates with a server that has the chat completions of OpenAI. */
export function createOpenAiProvider(name: string, options: ProviderHttpOptions): TranslationProvider {
  const { config } = options;
  const { limits, mask: style, instructions = null } = config;
  const chat = createOpenAiChat(options);
  const size = { units: limits.batchUnits, characters: limits.batchCharacters };

  const prepare = (subject: TranslationSubject, units: readonly UnitToTranslate[]) => {
    const { sendable, failed } = maskUnits(units, style);
    const lines = sendable.map(({ unit, masked }, index) => ({
      id: `u${index + 1}`,
      unitId: unit.unitId,
      unit,
      masked,
    }));
    const prompt = writePrompt(subject, lines, style, instructions);
    const answer = { name: 'translations', schema: TRANSLATION_SCHEMA };
    const texts = lines.reduce((sum, { masked }) => sum + estimateTokens(masked.text), 0);
    const estimate = chat.estimate(
      { prompt, answer },
      {
        answerTokens: texts + lines.length * TOKENS_PER_LINE,
        characters: lines.reduce((sum, { unit }) => sum + unit.sourceText.length, 0),
      },
    );
    return { failed, lines, question: { prompt, answer, estimate } };
  };

  return {
    name,
    kind: 'openai',
    model: config.model ?? null,
    promptDigest: promptDigest(style, instructions),
    stepSize: size,
    requestsPerUnit: limits.requestsPerUnit,
    fallback: null,
    evaluator: createOpenAiEvaluator(chat, options),
    classifier: createOpenAiClassifier(chat, options),
    estimate: (request) =>
      chat.total(splitIntoBatches(request.units, size).map((units) => prepare(request, units).question)),
    promptOf: (subject) => {
      const [units = []] = splitIntoBatches(subject.units, size);
      return prepare(subject, units).question.prompt;
    },
    beginRun: options.breaker.tryAgain,
    translateBatch: async (request) =>
      await translateUntilSettled(request.units, askOptions(options, request), async (units, count) => {
        const { failed, lines, question } = prepare(request, units);
        if (lines.length === 0) return { providerRunId: null, rows: failed };
        const { content, providerRunId } = await chat.ask(question, request, count);
        return {
          providerRunId,
          rows: new Map([...readAnswerRows(content, lines, style, rulesOf(request, style)), ...failed]),
        };
      }),
  };
}
