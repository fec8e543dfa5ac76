import { parseJsonExact } from '../../../contract/json/json-exact.ts';
import type { BoundedAnswer } from '../../../platform/http/http-client.ts';
import { parseRetryAfter } from '../../../platform/http/retry-after.ts';
import type { SecretMask } from '../../../platform/logging/secret-mask.ts';
import { memberOf } from './member-of.ts';
import { ProviderError, type ProviderFailureCode } from './provider-failure.ts';

/** An answer with an error, as far as its meaning depends on it. */
interface ErrorAnswer {
  readonly status: number;
  /** What it says, and the names of the error; for the rules below. */
  readonly words: string;
  /** What it says, for people; `null` when it says nothing. */
  readonly text: string | null;
}

interface Rule {
  readonly code: ProviderFailureCode;
  /** Absent: any status. */
  readonly statuses?: readonly number[];
  readonly words?: { readonly test: (words: string) => boolean };
  readonly nextStep?: string;
}

const SETTINGS = 'check url, model and the other settings of the provider';
const LOWER_ANSWER = 'lower maxAnswerTokens of the provider';

/** Whether the longest answer alone fills the model, as vLLM says it: then every prompt is too long. */
function leavesNoPrompt(words: string): boolean {
  const found = /tokens['"]? is too large: (\d{1,9})\b.{0,200}maximum context length is (\d{1,9})\b/s.exec(
    words,
  );
  return found !== null && Number(found[1]) >= Number(found[2]);
}

/**
 * What errors mean, the first that fits. The wording is that of OpenAI, Azure, Gemini, Mistral, Anthropic, OpenRouter, DeepSeek, vLLM,
 * llama.cpp, Ollama, DeepL and LibreTranslate, as their documentation and the issues of their clients show it.
 */
const RULES: readonly Rule[] = [
  {
    code: 'provider_account',
    words:
      /insufficient_quota|insufficient[ _]balance|insufficient[ _]credits?|credit balance|more credits|payment[ _]required|billing[ _]?(?:hard[ _]limit|not[ _]active)|account (?:is )?(?:deactivated|suspended|not active)|arrearage/,
    nextStep:
      'the account needs credit: check the plan and billing at the provider, or lower maxAnswerTokens',
  },
  {
    code: 'provider_account',
    statuses: [402],
    nextStep: 'the account needs credit: check the plan and billing at the provider',
  },
  {
    code: 'provider_account',
    statuses: [456],
    nextStep:
      'the quota of the account is used up: raise the limit of characters at DeepL, or wait for the next month',
  },
  { code: 'provider_rejected', words: { test: leavesNoPrompt }, nextStep: LOWER_ANSWER },
  {
    code: 'request_too_large',
    words:
      /context[_ ]length|maximum context|context[_ ](?:size|window)|prompt is too long|too many (?:input )?tokens|too large for model|input token count|maximum number of (?:input )?tokens|request too large|reduce the length|range of input length|string_above_max_length|exceeds text limit/,
  },
  { code: 'request_too_large', statuses: [413] },
  {
    code: 'provider_rejected',
    words: /max_(?:completion_)?tokens['"]?(?: or \S+)? is too large|at most \d+ completion tokens/,
    nextStep: LOWER_ANSWER,
  },
  {
    code: 'provider_rejected',
    words: /unknown name|unrecognized (?:request argument|field|parameter)|unknown (?:field|parameter)/,
    nextStep: SETTINGS,
  },
  {
    code: 'answer_refused',
    statuses: [200, 400, 403, 422, 451],
    words:
      /content[_ ]filter|content management policy|responsibleaipolicy|content[_ ]policy|prohibited[_ ]content|(?:blocked|rejected|refused|filtered|stopped)\b.{0,80}\b(?:safety|moderation)|safety[_ ](?:system|violation)|(?:is|are|was|were|been) flagged|flagged (?:by|as|for)|data_inspection_failed|inappropriate content|sensitive content|blocklist/,
  },
  { code: 'provider_throttled', words: /too many request limits violations/ },
  {
    code: 'provider_credentials',
    words:
      /get an api key|invalid[_ ]api[_ ]key|incorrect api key|api key (?:not valid|expired|is missing|not found)|invalid (?:subscription key|x-api-key)/,
    nextStep: 'check tokenFile and the permissions of the key',
  },
  {
    code: 'provider_credentials',
    statuses: [401, 403],
    nextStep: 'check tokenFile and the permissions of the key',
  },
  {
    code: 'provider_rejected',
    words:
      /model_not_found|(?:model|deployment)\b.{0,200}(?:does not exist|not exist|not found|not available|is not supported)|(?:unknown|invalid|no such) model|not a valid model|try pulling it/,
    nextStep: 'check model and url of the provider',
  },
  {
    code: 'provider_rejected',
    words:
      /(?:is|'target_lang'|'source_lang') not supported|not available as a target|unsupported (?:language|parameter|value)|extra inputs/,
    nextStep: SETTINGS,
  },
  { code: 'provider_throttled', statuses: [429, 529] },
  {
    code: 'provider_throttled',
    words: /rate[_ ]limit|resource_exhausted|too many requests|exceeded your current quota/,
  },
  { code: 'provider_error', statuses: [408, 409, 425] },
];

/** Statuses of requests that the server understands and refuses: another request may be accepted. */
const OF_THE_REQUEST: ReadonlySet<number> = new Set([400, 422]);
const SHOWN_CHARACTERS = 300;

/** The header in which DeepL names an answer. */
export const TRACE_HEADER = 'x-trace-id';

/** The name of an answer for the support of its provider; `null` when it has none. */
export function traceOf({ headers }: BoundedAnswer): string | null {
  const trace = headers?.[TRACE_HEADER] ?? '';
  return /^[\x21-\x7e]{1,200}$/.test(trace) ? trace : null;
}

/** What an error says, cut and without secrets and control characters. */
export function errorWords({ status, body }: BoundedAnswer): ErrorAnswer {
  const text = body.toString('utf8');
  const parsed = jsonOf(text);
  const isPage = parsed === undefined && /^\s*</.test(text);
  const said = isPage ? null : parsed === undefined ? text.trim() : withDetail(textOf(parsed), parsed);
  return {
    status,
    words: `${said ?? ''} ${parsed === undefined ? '' : namesOf(parsed)}`.slice(0, 8192).toLowerCase(),
    text: said === '' ? null : said,
  };
}

/**
 * The failure that an answer with an error stands for.
 *
 * @param status of the answer; that of the error inside of an answer with another status
 * @param now Unix milliseconds
 */
export function failureOfAnswer(
  answer: BoundedAnswer,
  secrets: SecretMask,
  now: number,
  status = answer.status,
): ProviderError {
  const error = { ...errorWords(answer), status };
  const rule = RULES.find(
    ({ statuses, words }) =>
      (statuses === undefined || statuses.includes(status)) &&
      (words === undefined || words.test(error.words)),
  );
  const code = rule?.code ?? codeOfStatus(status);
  const nextStep = rule?.nextStep ?? (code === 'provider_rejected' ? SETTINGS : null);
  const message = `${saidWith(answer, secrets)}${nextStep === null ? '' : `; ${nextStep}`}`;
  const retryAfterMs = parseRetryAfter(answer.retryAfter ?? null, now) ?? saidWait(answer, error.words);
  return new ProviderError(code, message, { retryAfterMs });
}

/** What an answer with an error says, for people. */
export function saidWith(answer: BoundedAnswer, secrets: SecretMask): string {
  const { status, text } = errorWords(answer);
  const [said, trace] = [text === null ? '' : `: ${shownWords(text, secrets)}`, traceOf(answer)];
  return `the provider answered with status ${status}${said}${trace === null ? '' : ` (trace id ${trace})`}`;
}

function codeOfStatus(status: number): ProviderFailureCode {
  if (status >= 500 || (status >= 200 && status < 300)) return 'provider_error';
  return OF_THE_REQUEST.has(status) ? 'request_refused' : 'provider_rejected';
}

/** Words of a provider for people: without secrets and control characters, and cut. */
export function shownWords(text: string, secrets: SecretMask): string {
  // A key that the cut would halve is replaced before.
  return secrets
    .mask(text)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, SHOWN_CHARACTERS)
    .toWellFormed();
}

const LONGEST_SAID_MS = 300_000;

/** A wait that the text asks for, as Gemini and OpenAI write it. Milliseconds. */
function saidWait({ body }: BoundedAnswer, words: string): number | null {
  const found =
    /"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)(s)"/.exec(body.toString('utf8')) ??
    /(?:try again|retry) in (\d{1,6}(?:\.\d{1,9})?)\s?(ms|s)\b/.exec(words);
  if (found === null) return null;
  return Math.min(LONGEST_SAID_MS, Math.ceil(Number(found[1]) * (found[2] === 'ms' ? 1 : 1000)));
}

function jsonOf(text: string): unknown {
  try {
    return parseJsonExact(text, { maxDepth: 32 });
  } catch {
    // It is shown as it is.
    return undefined;
  }
}

/** Members that hold the text of an error or another object with it, in the order of their trust. */
const TEXT_MEMBERS = [
  'raw',
  'metadata',
  'error',
  'errors',
  'message',
  'msg',
  'detail',
  'details',
  'choices',
] as const;
/** A message that says nothing; OpenRouter has the real one in `metadata.raw`. */
const EMPTY_MESSAGE = /^(?:provider returned error|bad request|error)$/i;

/** The text of `{error: "..."}`, `{error: {message}}`, `[{error}]`, `{message}`, `{detail: [{msg}]}` and the like. */
function textOf(value: unknown, depth = 0): string | null {
  if (typeof value === 'string') {
    const inner = depth > 0 && value.startsWith('{') ? jsonOf(value) : undefined;
    return (inner === undefined ? null : textOf(inner, depth + 1)) ?? (value === '' ? null : value);
  }
  if (depth > 6 || typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return textOf(value[0], depth + 1);
  const order = EMPTY_MESSAGE.test(stringOf(memberOf(value, 'message'))) ? TEXT_MEMBERS : LATE_RAW;
  for (const name of order) {
    const text = textOf(memberOf(value, name), depth + 1);
    if (text !== null) return text;
  }
  return null;
}

/** DeepL says more in a second member. */
function withDetail(said: string | null, parsed: unknown): string | null {
  const detail = stringOf(memberOf(parsed, 'detail'));
  return said === null || detail === '' || said.includes(detail) ? said : `${said}: ${detail}`;
}

const LATE_RAW = [...TEXT_MEMBERS.slice(2), ...TEXT_MEMBERS.slice(0, 2)];

const NAMES = ['code', 'type', 'status', 'reason', 'param'] as const;

/** The names of an error, wherever they are in it. */
function namesOf(value: unknown, depth = 0): string {
  if (depth > 6 || typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value)) return namesOf(value[0], depth + 1);
  const own = NAMES.map((name) => stringOf(memberOf(value, name)));
  const inner = ['error', 'errors', 'innererror', 'metadata', 'detail', 'choices'].map((name) =>
    namesOf(memberOf(value, name), depth + 1),
  );
  return [...own, ...inner].filter((name) => name !== '').join(' ');
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
