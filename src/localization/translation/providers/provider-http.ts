import { HttpFailure, type BoundedAnswer, type HttpClient } from '../../../platform/http/http-client.ts';
import { parseRetryAfter } from '../../../platform/http/retry-after.ts';
import { readTokenFile, TokenFileError } from '../../../platform/files/token-file.ts';
import type { SecretMask } from '../../../platform/logging/secret-mask.ts';
import { backoffMs } from '../../../platform/process/backoff.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { JSON_MEDIA_TYPE } from '../../../contract/json/media-types.ts';
import { parseJsonExact } from '../../../contract/json/json-exact.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { ProviderConfiguration } from './provider-config.ts';
import { ProviderError } from './provider-failure.ts';
import type { RateLimit } from './rate-limit.ts';

/** The dependencies of every provider. */
export interface ProviderWorld {
  readonly clock: Clock;
  /** In [0, 1), for the jitter of waits. */
  readonly random: () => number;
  /** Learns the keys of providers, so that none reaches a log or a report. */
  readonly secrets: SecretMask;
  readonly client: HttpClient;
}

export interface ProviderHttpOptions extends ProviderWorld {
  readonly config: ProviderConfiguration;
  readonly rateLimit: RateLimit;
}

interface ProviderCall {
  /** Below the URL of the provider. */
  readonly path: string;
  /** The body, given the API key; `null` when there is none. */
  readonly body: (key: string | null) => unknown;
  /** Whether the key is sent as a bearer token. */
  readonly bearer: boolean;
  /** Characters of the sources, for the rate limit. */
  readonly characters: number;
  readonly signal: AbortSignal;
}

const BACKOFF = { baseMs: 500, capMs: 10_000 } as const;
/** Statuses whose meaning depends on the kind of provider. */
const FOR_THE_CALLER: ReadonlySet<number> = new Set([400, 413, 422]);
const SHOWN_CHARACTERS = 200;

/**
 * Sends a request at the rate of the provider, and again while the provider is busy or in trouble. The configuration must have a URL.
 *
 * @returns an answer with status 200 to 299, 400, 413 or 422
 * @throws ProviderError for everything else; the reason of the signal
 */
export async function postToProvider(
  options: ProviderHttpOptions,
  call: ProviderCall,
): Promise<BoundedAnswer> {
  const { config, rateLimit, clock, random } = options;
  const { attempts, longestWaitSeconds } = config.limits;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendOnce(options, call);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const { code, retryAfterMs } = error;
      const wait = backoffMs(attempt, BACKOFF, random(), retryAfterMs);
      if (code === 'provider_throttled') rateLimit.throttled(wait);
      const isWorthIt = SENT_AGAIN.has(code) && attempt < attempts;
      if (!isWorthIt || (retryAfterMs ?? 0) > longestWaitSeconds * 1000) throw error;
      await clock.sleep(wait, call.signal);
    }
  }
}

async function sendOnce(options: ProviderHttpOptions, call: ProviderCall): Promise<BoundedAnswer> {
  const { config, rateLimit, clock, secrets, client } = options;
  const { limits, url: base = '' } = config;
  await rateLimit.take(call.characters, call.signal);
  const key = await readKey(options);
  const answer = await client
    .send({
      url: new URL(call.path, base.endsWith('/') ? base : `${base}/`),
      method: 'POST',
      headers: { 'content-type': JSON_MEDIA_TYPE },
      token: call.bearer ? key : null,
      body: JSON.stringify(call.body(key)),
      timeoutMs: limits.timeoutSeconds * 1000,
      maxBytes: limits.answerBytes,
      signal: call.signal,
    })
    .catch((error: unknown) => {
      throw error instanceof HttpFailure ? errorOfTransport(error) : error;
    });
  const { status } = answer;
  if ((status >= 200 && status < 300) || FOR_THE_CALLER.has(status)) {
    rateLimit.succeeded();
    return answer;
  }
  throw errorOfStatus(answer, secrets, clock.now());
}

async function readKey({ config, secrets }: ProviderHttpOptions): Promise<string | null> {
  if (config.tokenFile === undefined) return null;
  try {
    const key = await readTokenFile(config.tokenFile);
    secrets.learn(key);
    return key;
  } catch (error) {
    if (!(error instanceof TokenFileError)) throw error;
    throw new ProviderError('provider_credentials', error.message, { cause: error });
  }
}

/** A request that timed out may have been carried out and paid for, so it is not sent again immediately. */
const SENT_AGAIN: ReadonlySet<string> = new Set([
  'provider_unreachable',
  'provider_throttled',
  'provider_error',
]);

function errorOfTransport(cause: HttpFailure): ProviderError {
  const { code, message } = cause;
  if (code === 'timeout') return new ProviderError('provider_timeout', message, { cause });
  if (code === 'unreachable') return new ProviderError('provider_unreachable', message, { cause });
  if (code === 'answer_too_large') return new ProviderError('answer_too_large', message, { cause });
  return new ProviderError('answer_malformed', message, { cause });
}

function errorOfStatus(answer: BoundedAnswer, secrets: SecretMask, now: number): ProviderError {
  const { status } = answer;
  const retryAfterMs = parseRetryAfter(answer.retryAfter ?? null, now);
  const message = `the provider answered with status ${status}${explanationOf(answer, secrets)}`;
  if (status === 429) return new ProviderError('provider_throttled', message, { retryAfterMs });
  if (status === 408 || status >= 500) return new ProviderError('provider_error', message, { retryAfterMs });
  return rejected(answer, secrets);
}

/** The failure that the provider does not accept requests like this one. */
export function rejected(answer: BoundedAnswer, secrets: SecretMask): ProviderError {
  const { status } = answer;
  return new ProviderError(
    'provider_rejected',
    `the provider answered with status ${status}${explanationOf(answer, secrets)}; ` +
      'check url, model and tokenFile of the provider',
  );
}

function explanationOf({ body }: BoundedAnswer, secrets: SecretMask): string {
  const text = errorTextOf(body);
  if (text === null) return '';
  // A key that the cut would halve is replaced before.
  const safe = secrets.mask(text).replaceAll(/\p{Cc}+/gu, ' ');
  return `: ${safe.slice(0, SHOWN_CHARACTERS)}`;
}

/** The text of `{error: "..."}` or `{error: {message: "..."}}`. */
function errorTextOf(body: Buffer): string | null {
  const error = memberOf(parsed(body), 'error');
  const text = typeof error === 'string' ? error : memberOf(error, 'message');
  return typeof text === 'string' && text !== '' ? text : null;
}

function parsed(body: Buffer): unknown {
  try {
    return parseJsonExact(body.toString('utf8'));
  } catch {
    // Only an explanation is lost.
    return null;
  }
}

/** A member of a JSON object; `undefined` for everything else. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/**
 * Parses the body of an answer.
 *
 * @param parse throws when the body is not JSON
 * @throws ProviderError `answer_malformed`
 */
export function parsedOrError(parse: () => unknown): unknown {
  try {
    return parse();
  } catch (cause) {
    throw new ProviderError('answer_malformed', messageOf(cause), { cause });
  }
}
