import { parseJsonAnswer, type BoundedAnswer } from '../../../platform/http/http-client.ts';
import { estimateTokens } from '../../../domain/translation/token-estimate.ts';
import type { Prompt } from './prompt.ts';
import { ANSWER_FORMATS, type ProviderConfiguration } from './provider-config.ts';
import { ProviderError } from './provider-failure.ts';
import {
  memberOf,
  parsedOrError,
  postToProvider,
  rejected,
  type ProviderHttpOptions,
} from './provider-http.ts';
import {
  addUsage,
  NO_USAGE,
  priced,
  type RequestEstimate,
  type RequestSize,
  type Spending,
  type Usage,
  spend,
} from './spending.ts';

interface ChatPrompt {
  readonly prompt: Prompt;
  readonly answer: { readonly name: string; readonly schema: object };
}

interface ChatQuestion extends ChatPrompt {
  readonly estimate: RequestEstimate;
}

interface ChatRun {
  readonly spending: Spending;
  readonly signal: AbortSignal;
}

interface ChatAnswer {
  readonly content: string;
  readonly providerRunId: string | null;
}

/** Asks a server that has the chat completions of OpenAI. */
export interface OpenAiChat {
  /** The needs of a question. @param answerTokens of the expected answer */
  estimate(
    question: ChatPrompt,
    needs: { readonly answerTokens: number; readonly characters: number },
  ): RequestEstimate;
  /** The usage of several questions together, with its price. */
  total(questions: Iterable<ChatQuestion>): Usage;
  /**
   * Asks one question within the caps of its run.
   *
   * @param count is given what the request used
   * @throws ProviderError; the reason of the signal
   */
  ask(question: ChatQuestion, run: ChatRun, count: (usage: Usage) => void): Promise<ChatAnswer>;
}

const TOKENS_PER_REQUEST = 20;
const REFUSAL_CHARACTERS = 200;
const RUN_ID_CHARACTERS = 200;

/**
 * Creates the questions to one server. The format that it accepts is remembered.
 *
 * Source: platform.openai.com/docs/api-reference/chat/create; the guide "Structured outputs".
 */
export function createOpenAiChat(options: ProviderHttpOptions): OpenAiChat {
  const { config, secrets } = options;
  const { prices, maxAnswerTokens } = config;
  let formatIndex = ANSWER_FORMATS.indexOf(config.answerFormat);

  /** Asks in the format that the server is known to accept, and in simpler ones when it refuses. */
  const complete = async (
    question: ChatQuestion,
    signal: AbortSignal,
    longestAnswer: number,
  ): Promise<BoundedAnswer> => {
    const { characters } = question.estimate;
    for (let index = formatIndex; ; index += 1) {
      const body = requestBody(config, question, index, longestAnswer);
      const call = { path: 'chat/completions', bearer: true, characters, signal };
      const answer = await postToProvider(options, { ...call, body: () => body });
      if (answer.status < 300) {
        formatIndex = index;
        return answer;
      }
      if (isTooLarge(answer)) {
        throw new ProviderError('request_too_large', `the provider answered with status ${answer.status}`);
      }
      if (index + 1 >= ANSWER_FORMATS.length) throw rejected(answer, secrets);
    }
  };

  return {
    estimate: ({ prompt, answer }, { answerTokens, characters }) => {
      const schema =
        config.answerFormat === 'json_schema' ? estimateTokens(JSON.stringify(answer.schema)) : 0;
      return {
        promptTokens:
          estimateTokens(prompt.system) + estimateTokens(prompt.user) + schema + TOKENS_PER_REQUEST,
        answerTokens: Math.min(maxAnswerTokens, answerTokens),
        characters,
        longestAnswer: maxAnswerTokens,
      };
    },
    total: (questions) =>
      Array.from(questions, ({ estimate }) => priced(estimate, prices)).reduce(addUsage, NO_USAGE),
    ask: async (question, { spending, signal }, count) =>
      await spend(spending, question.estimate, prices, count, async (longest, settle) => {
        const read = readCompletion(await complete(question, signal, longest), question.estimate);
        settle(priced(read.used, prices));
        return {
          providerRunId: read.providerRunId,
          content: contentOf(read.message, read.finish, (text) => secrets.mask(text)),
        };
      }),
  };
}

function requestBody(
  config: ProviderConfiguration,
  { prompt, answer }: ChatQuestion,
  formatIndex: number,
  longestAnswer: number,
): object {
  const { model, temperature, answerTokensField } = config;
  const schema = { name: answer.name, strict: true, schema: answer.schema };
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

interface Completion {
  readonly message: unknown;
  readonly finish: unknown;
  readonly providerRunId: string | null;
  readonly used: RequestSize;
}

/** Reads a chat completion. A server that reports no usage is charged with the estimate. */
function readCompletion(answer: BoundedAnswer, estimate: RequestEstimate): Completion {
  const body = parsedOrError(() => parseJsonAnswer(answer));
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
    used: {
      promptTokens: counted('prompt_tokens', estimate.promptTokens),
      answerTokens: counted('completion_tokens', estimate.answerTokens),
      characters: estimate.characters,
    },
  };
}

/** The text of a message. Throws ProviderError when the model refused, was cut off or said nothing. */
function contentOf(message: unknown, finish: unknown, mask: (text: string) => string): string {
  const [content, refusal] = [memberOf(message, 'content'), memberOf(message, 'refusal')];
  if (typeof refusal === 'string' && refusal !== '') {
    const shown = mask(refusal)
      .replaceAll(/\p{Cc}+/gu, ' ')
      .slice(0, REFUSAL_CHARACTERS);
    throw new ProviderError('answer_refused', `the model refused: ${shown}`);
  }
  if (finish === 'content_filter') {
    throw new ProviderError('answer_refused', 'the filter of the provider stopped the answer');
  }
  if (finish === 'length') {
    throw new ProviderError('answer_cut', 'the answer reached its longest length before it was complete');
  }
  if (typeof content !== 'string' || content === '') {
    throw new ProviderError('answer_malformed', 'the answer has no text');
  }
  return content;
}

/** Whether a server says that the prompt does not fit the model; then a smaller one can. */
function isTooLarge({ status, body }: BoundedAnswer): boolean {
  return status === 413 || body.includes('context_length_exceeded');
}

/** The id of an answer as records keep it; `null` for one that is missing, too long or not printable. */
function shownRunId(id: unknown): string | null {
  const isUsable = typeof id === 'string' && id.length <= RUN_ID_CHARACTERS && /^[\x21-\x7e]+$/.test(id);
  return isUsable ? id : null;
}
