import { splitIntoBatches, type BatchSize } from '../../../domain/translation/batches.ts';
import { askUntilSettled } from './ask-until-settled.ts';
import type { EvaluationSubject, Evaluator, UnitToEvaluate } from './evaluation.ts';
import { evaluationSchema, readEvaluations, writeEvaluationPrompt } from './evaluation-prompt.ts';
import type { OpenAiChat } from './openai-chat.ts';
import { addUsage, NO_USAGE, type Usage } from './spending.ts';

/** Tokens of the answer about one translation: its id, the repeated beginning, and the findings of a poor one. */
const TOKENS_PER_LINE = 120;

/** Evaluates translations with a language model. @param size of one request */
export function createOpenAiEvaluator(
  chat: OpenAiChat,
  size: BatchSize,
  instructions: string | null,
): Evaluator {
  const prepare = (subject: EvaluationSubject, units: readonly UnitToEvaluate[]) => {
    const lines = units.map((unit, index) => ({
      id: `u${index + 1}`,
      unitId: unit.unitId,
      text: unit.sourceText,
      unit,
    }));
    const prompt = writeEvaluationPrompt(subject, lines, instructions);
    const answer = { name: 'evaluations', schema: evaluationSchema(lines) };
    const estimate = chat.estimate(
      { prompt, answer },
      {
        answerTokens: lines.length * TOKENS_PER_LINE,
        characters: units.reduce((sum, { sourceText }) => sum + sourceText.length, 0),
      },
    );
    return { lines, question: { prompt, answer, estimate } };
  };

  return {
    estimate: (request) =>
      chat.total(splitIntoBatches(request.units, size).map((units) => prepare(request, units).question)),
    evaluate: async (request) => {
      let usage = NO_USAGE;
      const count = (used: Usage): void => {
        usage = addUsage(usage, used);
      };
      const { results, failures } = await askUntilSettled(
        splitIntoBatches(request.units, size),
        async (units) => {
          const { lines, question } = prepare(request, units);
          const { content, providerRunId } = await chat.ask(question, request, count);
          return { providerRunId, rows: readEvaluations(content, lines) };
        },
      );
      return {
        results: results.map(({ unitId, value }) => ({ unitId, findings: value })),
        failures,
        usage,
      };
    },
  };
}
