import { estimateTokens } from '../../../domain/translation/token-estimate.ts';
import { parseJsonExact } from '../../../contract/json/json-exact.ts';
import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import type { SecretMask } from '../../../platform/logging/secret-mask.ts';
import { failureOfAnswer, shownWords } from './error-answer.ts';
import { memberOf } from './member-of.ts';
import { ProviderError } from './provider-failure.ts';
import type { RequestEstimate, RequestSize } from './spending.ts';

/** A chat completion. */
export interface Completion {
  readonly providerRunId: string | null;
  readonly used: RequestSize;
  /** @throws ProviderError when the model refused, was cut off or said nothing */
  readonly content: () => string;
}

const RUN_ID_CHARACTERS = 200;

/**
 * Reads a chat completion in the shapes in which servers send it: JSON, or server-sent events although nobody asked for them. A server
 * that reports no usage is charged with the estimate, or with its text when that is longer.
 *
 * @param now Unix milliseconds
 * @throws ProviderError for an error inside of the answer, a page of a proxy, and everything that is no completion
 */
export function readCompletion(
  answer: BoundedAnswer,
  estimate: RequestEstimate,
  secrets: SecretMask,
  now: number,
): Completion {
  const body = bodyOf(answer);
  const choice = firstOf(memberOf(body, 'choices'));
  const error = memberOf(body, 'error') ?? memberOf(choice, 'error') ?? null;
  if (error !== null || (choice === undefined && isError(body))) {
    throw failureOfAnswer(answer, secrets, now, statusOf(error ?? body));
  }
  const usage = memberOf(body, 'usage');
  const counted = (name: string, instead: number): number => {
    const value = memberOf(usage, name);
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : instead;
  };
  return {
    providerRunId: shownRunId(memberOf(body, 'id')),
    used: {
      promptTokens: counted('prompt_tokens', estimate.promptTokens),
      answerTokens: counted(
        'completion_tokens',
        Math.max(
          estimate.answerTokens,
          estimateTokens(textOf(memberOf(memberOf(choice, 'message'), 'content'))),
        ),
      ),
      characters: estimate.characters,
    },
    content: () => contentOf(body, choice, secrets),
  };
}

function bodyOf({ body, contentType }: BoundedAnswer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body).trim();
  } catch (cause) {
    throw new ProviderError('answer_malformed', 'the answer is not UTF-8', { cause });
  }
  if (contentType.startsWith('text/event-stream') || /^(?:data|event|id|retry)?:/.test(text))
    return joinedEvents(text);
  if (text.startsWith('<')) {
    throw new ProviderError(
      'provider_error',
      'the answer is a web page, perhaps from a proxy; check the url of the provider and any proxy in front of it',
    );
  }
  const parsed = parsedOrNull(text);
  if (parsed === null) throw new ProviderError('answer_malformed', 'the answer is not valid JSON');
  return Array.isArray(parsed) ? firstOf(parsed) : parsed;
}

/** Events of a streamed completion as one that was not streamed. */
function joinedEvents(text: string): unknown {
  const events = text
    .split(/\r\n|\r|\n/)
    .flatMap((line) => (line.startsWith('data:') ? [line.slice('data:'.length).trim()] : []))
    .filter((data) => data !== '' && data !== '[DONE]')
    .map(parsedOrNull);
  const texts: string[] = [];
  let [id, usage, finish]: readonly unknown[] = [];
  for (const event of events) {
    if ((memberOf(event, 'error') ?? null) !== null) return event;
    const choice = firstOf(memberOf(event, 'choices'));
    const part = memberOf(choice, 'delta') ?? memberOf(choice, 'message');
    texts.push(textOf(memberOf(part, 'content')));
    id ??= memberOf(event, 'id');
    usage = memberOf(event, 'usage') ?? usage;
    finish = memberOf(choice, 'finish_reason') ?? finish;
  }
  return { id, usage, choices: [{ finish_reason: finish, message: { content: texts.join('') } }] };
}

function parsedOrNull(text: string): unknown {
  try {
    return parseJsonExact(text);
  } catch {
    // The caller names the failure.
    return null;
  }
}

function isError(body: unknown): boolean {
  return (
    memberOf(body, 'object') === 'error' ||
    memberOf(body, 'type') === 'error' ||
    typeof memberOf(body, 'detail') === 'string'
  );
}

/** The status of an error inside of an answer with another one; 200 when it has none. */
function statusOf(error: unknown): number {
  const status = Number(memberOf(error, 'code') ?? memberOf(error, 'status'));
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : 200;
}

const FILTERED: ReadonlySet<unknown> = new Set([
  'content_filter',
  'safety',
  'prohibited_content',
  'blocklist',
  'recitation',
  'refusal',
  'sensitive',
]);
const CUT: ReadonlySet<unknown> = new Set(['length', 'max_tokens', 'model_length']);

/** The text of a choice. Throws ProviderError when the model refused, was cut off or said nothing. */
function contentOf(body: unknown, choice: unknown, secrets: SecretMask): string {
  const message = memberOf(choice, 'message');
  const refusal = memberOf(message, 'refusal');
  if (typeof refusal === 'string' && refusal !== '') {
    throw new ProviderError('answer_refused', `the model refused: ${shownWords(refusal, secrets)}`);
  }
  const reason = memberOf(choice, 'finish_reason');
  const finish = typeof reason === 'string' ? reason.toLowerCase() : null;
  const blocked = memberOf(memberOf(body, 'promptFeedback'), 'blockReason');
  if (FILTERED.has(finish) || typeof blocked === 'string') {
    throw new ProviderError('answer_refused', 'the content filter of the provider stopped the answer');
  }
  if (CUT.has(finish)) {
    throw new ProviderError('answer_cut', 'the answer reached its longest length before it was complete');
  }
  const content = textOf(memberOf(message, 'content'));
  if (content.trim() !== '') return content;
  // Some servers take the whole answer of a model for its reasoning.
  const reasoning = textOf(memberOf(message, 'reasoning_content') ?? memberOf(message, 'reasoning'));
  if (reasoning.includes('{')) return reasoning;
  throw new ProviderError('answer_malformed', 'the answer has no text');
}

/** A text, or the texts of a list of parts without those of the reasoning. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => {
      if (typeof part === 'string') return part;
      const type = memberOf(part, 'type');
      const text = memberOf(part, 'text');
      return (type === undefined || type === 'text' || type === 'output_text') && typeof text === 'string'
        ? text
        : '';
    })
    .join('');
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? (value[0] as unknown) : undefined;
}

/** The id of an answer as records keep it; `null` for one that is missing, too long or not printable. */
function shownRunId(id: unknown): string | null {
  const isUsable = typeof id === 'string' && id.length <= RUN_ID_CHARACTERS && /^[\x21-\x7e]+$/.test(id);
  return isUsable ? id : null;
}
