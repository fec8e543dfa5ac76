import { parseJsonAnswer, type BoundedAnswer } from '../../../platform/http/http-client.ts';
import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import { estimateTokens } from '../../../domain/translation/token-estimate.ts';
import { answerSchema, readAnswerRows } from './answer-rows.ts';
import { askUntilSettled, type AnswerRows } from './ask-until-settled.ts';
import { maskUnits } from './mask-units.ts';
import { promptDigest, writePrompt, type Prompt, type PromptLine, type PromptSubject } from './prompt.ts';
import { ANSWER_FORMATS, type ProviderConfiguration } from './provider-config.ts';
import { ProviderTrouble } from './provider-failure.ts';
import {
  createProviderHttp,
  memberOf,
  parsedOrTrouble,
  rejected,
  type ProviderHttpOptions,
} from './provider-http.ts';
import type { TranslationProvider, TranslationRequest, UnitToTranslate } from './provider.ts';
import { addUsage, NO_USAGE, priced, type RequestEstimate, type Usage } from './spending.ts';
import { spend } from './spend.ts';
import { shownRunId } from './run-id.ts';

/** Tokens around each line: its id, the repeated beginning, punctuation. */
const TOKENS_PER_LINE = 40;
const TOKENS_PER_REQUEST = 20;
const REFUSAL_CHARACTERS = 200;

interface Asked {
  readonly request: TranslationRequest;
  readonly lines: readonly PromptLine[];
  readonly prompt: Prompt;
  readonly estimate: RequestEstimate;
}

/** The usable parts of one answer. */
interface Completion {
  readonly content: string;
  readonly providerRunId: string | null;
  readonly used: Usage;
}

/**
 * Translates with a server that has the chat completions of OpenAI.
 *
 * Source: platform.openai.com/docs/api-reference/chat/create; the guide "Structured outputs".
 */
export function createOpenAiProvider(name: string, options: ProviderHttpOptions): TranslationProvider {
  const { config, secrets } = options;
  const { limits, prices, mask: style, instructions = null } = config;
  const http = createProviderHttp(options);
  const size = { units: limits.batchUnits, characters: limits.batchCharacters };
  let formatIndex = ANSWER_FORMATS.indexOf(config.answerFormat);

  /** Asks in the format that the server is known to accept, and in simpler ones when it refuses. */
  const complete = async (asked: Asked, longestAnswer: number): Promise<BoundedAnswer> => {
    const { characters } = asked.estimate;
    for (let index = formatIndex; ; index += 1) {
      const body = requestBody(config, asked, index, longestAnswer);
      const call = { path: 'chat/completions', bearer: true, characters, signal: asked.request.signal };
      const answer = await http.post({ ...call, body: () => body });
      if (answer.status < 300) {
        formatIndex = index;
        return answer;
      }
      if (isTooLarge(answer)) {
        throw new ProviderTrouble('request_too_large', `the provider answered with status ${answer.status}`);
      }
      if (index + 1 >= ANSWER_FORMATS.length) throw rejected(answer, secrets);
    }
  };

  const ask = async (asked: Asked, count: (usage: Usage) => void): Promise<AnswerRows> => {
    const completion = await spend(
      asked.request.spending,
      asked.estimate,
      prices,
      count,
      async (longest, settle) => {
        const answer = await complete(asked, longest);
        const read = readCompletion(answer, asked.estimate, (used) => priced(used, prices));
        settle(read.used);
        return { ...read, content: contentOf(read.message, read.finish, (text) => secrets.mask(text)) };
      },
    );
    return {
      providerRunId: completion.providerRunId,
      rows: readAnswerRows(completion.content, asked.lines, style),
    };
  };

  const prepare = (subject: PromptSubject, units: readonly UnitToTranslate[]) => {
    const { sendable, failed } = maskUnits(units, style);
    const lines = sendable.map(({ unit, masked }, index) => ({
      id: `u${index + 1}`,
      unitId: unit.unitId,
      unit,
      masked,
    }));
    const prompt = writePrompt(subject, lines, style, instructions);
    return { failed, lines, prompt, estimate: estimateOf(prompt, lines, config) };
  };

  return {
    name,
    kind: 'openai',
    model: config.model ?? null,
    promptDigest: promptDigest(style, instructions),
    stepSize: size,
    hasPrices: prices.promptTokensPerMillion > 0 || prices.answerTokensPerMillion > 0,
    estimate: (request) => {
      let usage = NO_USAGE;
      for (const units of splitIntoBatches(request.units, size)) {
        usage = addUsage(usage, priced(prepare(request, units).estimate, prices));
      }
      return usage;
    },
    translateBatch: async (request) => {
      let usage = NO_USAGE;
      const count = (used: Usage): void => {
        usage = addUsage(usage, used);
      };
      const settled = await askUntilSettled(splitIntoBatches(request.units, size), async (units) => {
        const { failed, ...prepared } = prepare(request, units);
        if (prepared.lines.length === 0) return { providerRunId: null, rows: failed };
        const answer = await ask({ request, ...prepared }, count);
        return { ...answer, rows: new Map([...answer.rows, ...failed]) };
      });
      return { ...settled, usage };
    },
  };
}

function requestBody(
  config: ProviderConfiguration,
  { prompt, lines }: Asked,
  formatIndex: number,
  longestAnswer: number,
): object {
  const { model, temperature, answerTokensField } = config;
  const schema = { name: 'translations', strict: true, schema: answerSchema(lines) };
  const formats: Readonly<Record<(typeof ANSWER_FORMATS)[number], object>> = {
    json_schema: { response_format: { type: 'json_schema', json_schema: schema } },
    json_object: { response_format: { type: 'json_object' } },
    text: {},
  };
  return {
    model,
    messages: [
      { role: 'system', content: prompt.system },
      { role: 'user', content: prompt.user },
    ],
    [answerTokensField]: longestAnswer,
    ...(temperature === undefined ? {} : { temperature }),
    ...formats[ANSWER_FORMATS[formatIndex] ?? 'text'],
  };
}

function estimateOf(
  prompt: Prompt,
  lines: readonly PromptLine[],
  { maxAnswerTokens, answerFormat }: ProviderConfiguration,
): RequestEstimate {
  const texts = lines.reduce((sum, { masked }) => sum + estimateTokens(masked.text), 0);
  const schema = answerFormat === 'json_schema' ? estimateTokens(JSON.stringify(answerSchema(lines))) : 0;
  return {
    promptTokens: estimateTokens(prompt.system) + estimateTokens(prompt.user) + schema + TOKENS_PER_REQUEST,
    answerTokens: Math.min(maxAnswerTokens, texts + lines.length * TOKENS_PER_LINE),
    characters: lines.reduce((sum, { unit }) => sum + unit.sourceText.length, 0),
    longestAnswer: maxAnswerTokens,
  };
}

/** The parts of a chat completion. A server that reports no usage is charged with the estimate. */
function readCompletion(
  answer: BoundedAnswer,
  estimate: RequestEstimate,
  price: (used: Pick<RequestEstimate, 'promptTokens' | 'answerTokens' | 'characters'>) => Usage,
): Omit<Completion, 'content'> & { readonly message: unknown; readonly finish: unknown } {
  const body = parsedOrTrouble(() => parseJsonAnswer(answer));
  const choices = memberOf(body, 'choices');
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const usage = memberOf(body, 'usage');
  const counted = (name: string, instead: number): number => {
    const value = memberOf(usage, name);
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : instead;
  };
  return {
    message: memberOf(choice, 'message'),
    finish: memberOf(choice, 'finish_reason'),
    providerRunId: shownRunId(memberOf(body, 'id')),
    used: price({
      promptTokens: counted('prompt_tokens', estimate.promptTokens),
      answerTokens: counted('completion_tokens', estimate.answerTokens),
      characters: estimate.characters,
    }),
  };
}

/** The text of a message. Throws ProviderTrouble when the model refused, was cut off or said nothing. */
function contentOf(message: unknown, finish: unknown, mask: (text: string) => string): string {
  const [content, refusal] = [memberOf(message, 'content'), memberOf(message, 'refusal')];
  if (typeof refusal === 'string' && refusal !== '') {
    const shown = mask(refusal)
      .replaceAll(/\p{Cc}+/gu, ' ')
      .slice(0, REFUSAL_CHARACTERS);
    throw new ProviderTrouble('answer_refused', `the model refused: ${shown}`);
  }
  if (finish === 'content_filter') {
    throw new ProviderTrouble('answer_refused', 'the filter of the provider stopped the answer');
  }
  if (finish === 'length') {
    throw new ProviderTrouble('answer_cut', 'the answer reached its longest length before it was complete');
  }
  if (typeof content !== 'string' || content === '') {
    throw new ProviderTrouble('answer_malformed', 'the answer has no text');
  }
  return content;
}

/** Whether a server says that the prompt does not fit the model; then a smaller one can. */
function isTooLarge({ status, body }: BoundedAnswer): boolean {
  return status === 413 || body.includes('context_length_exceeded');
}
