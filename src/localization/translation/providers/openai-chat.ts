import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import { estimateTokens } from '../../../domain/translation/token-estimate.ts';
import { readCompletion } from './completion.ts';
import { errorWords, failureOfAnswer } from './error-answer.ts';
import type { ProviderConfiguration } from './provider-config.ts';
import type { Prompt } from './provider.ts';
import { askProvider, type ProviderHttpOptions } from './provider-http.ts';
import { ANSWER_FORMATS, requestStyle, type ANSWER_TOKENS_FIELDS } from './provider-presets.ts';
import {
  addUsage,
  NO_USAGE,
  priced,
  spend,
  type RequestEstimate,
  type Spending,
  type Usage,
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

/** What a server accepts. */
interface Dialect {
  readonly format: (typeof ANSWER_FORMATS)[number];
  readonly tokensField: (typeof ANSWER_TOKENS_FIELDS)[number];
  readonly withTemperature: boolean;
}

const TOKENS_PER_REQUEST = 20;

/**
 * Creates the questions to one server. The dialect that it accepts is remembered.
 *
 * Source: platform.openai.com/docs/api-reference/chat/create; the guide "Structured outputs".
 */
export function createOpenAiChat(options: ProviderHttpOptions): OpenAiChat {
  const { config, secrets, clock } = options;
  const { prices, maxAnswerTokens } = config;
  const style = requestStyle(config);
  let dialect: Dialect = {
    format: style.answerFormat,
    tokensField: style.answerTokensField,
    withTemperature: true,
  };
  let hasAnswered = false;

  /** Asks in the dialect that the server is known to accept, and in simpler ones when it refuses. */
  const complete = async (
    question: ChatQuestion,
    signal: AbortSignal,
    longestAnswer: number,
    sent: () => void,
  ): Promise<BoundedAnswer> => {
    const { characters } = question.estimate;
    const usual = dialect.tokensField;
    let tried = dialect;
    // Each step changes what no step before has changed, so that there are few.
    for (;;) {
      const body = requestBody(config, question, tried, longestAnswer);
      const call = { path: 'chat/completions', keyHeaders: style.keyHeaders, characters, signal, sent };
      const answer = await askProvider(options, { ...call, body: () => body });
      if (answer.status < 300) {
        hasAnswered = true;
        return answer;
      }
      const failure = failureOfAnswer(answer, secrets, clock.now());
      const isRefused = [400, 422].includes(answer.status) && ABOUT_THE_REQUEST.has(failure.code);
      const { words } = errorWords(answer);
      const simpler = isRefused
        ? simplerDialect(tried, words, hasAnswered, tried.tokensField === usual)
        : null;
      if (simpler === null) throw failure;
      tried = simpler;
      dialect = simpler;
    }
  };

  return {
    estimate: ({ prompt, answer }, { answerTokens, characters }) => {
      const schema = style.answerFormat === 'json_schema' ? estimateTokens(JSON.stringify(answer.schema)) : 0;
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
      await spend(spending, question.estimate, prices, count, async (longest, { sent, settle }) => {
        const answer = await complete(question, signal, longest, sent);
        const { providerRunId, used, content } = readCompletion(
          answer,
          question.estimate,
          secrets,
          clock.now(),
        );
        settle(priced(used, prices));
        return { providerRunId, content: content() };
      }),
  };
}

/** Failures after which a simpler request may be accepted. */
const ABOUT_THE_REQUEST: ReadonlySet<string> = new Set(['request_refused', 'provider_rejected']);

/**
 * The dialect to try after a refusal; `null` when there is none.
 *
 * @param hasAnswered whether the server has accepted a dialect before: then it refuses something else, unless it names the format
 * @param mayChangeField whether this question may still be asked with the other field for the longest answer
 */
function simplerDialect(
  dialect: Dialect,
  words: string,
  hasAnswered: boolean,
  mayChangeField: boolean,
): Dialect | null {
  // It knows the field.
  if (/tokens['"]? is too large/.test(words)) return null;
  if (mayChangeField && dialect.tokensField === 'max_tokens' && words.includes('max_completion_tokens')) {
    return { ...dialect, tokensField: 'max_completion_tokens' };
  }
  if (
    mayChangeField &&
    dialect.tokensField === 'max_completion_tokens' &&
    /max_completion_tokens|extra.?forbidden|extra inputs/.test(words)
  ) {
    return { ...dialect, tokensField: 'max_tokens' };
  }
  if (dialect.withTemperature && words.includes('temperature')) return { ...dialect, withTemperature: false };
  const isAboutFormat =
    /response_format|json_schema|json_object|json mode|schema|structured output|grammar/.test(words);
  const format = ANSWER_FORMATS[ANSWER_FORMATS.indexOf(dialect.format) + 1];
  return format === undefined || (hasAnswered && !isAboutFormat) ? null : { ...dialect, format };
}

function requestBody(
  config: ProviderConfiguration,
  { prompt, answer }: ChatQuestion,
  { format, tokensField, withTemperature }: Dialect,
  longestAnswer: number,
): object {
  const { model, temperature } = config;
  const schema = { name: answer.name, strict: true, schema: answer.schema };
  const formats: Readonly<Record<Dialect['format'], object>> = {
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
    [tokensField]: longestAnswer,
    ...(temperature === undefined || !withTemperature ? {} : { temperature }),
    ...formats[format],
    ...requestStyle(config).extraBody,
  };
}
