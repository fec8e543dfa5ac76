import { messageOf } from '../../../platform/errors.ts';
import {
  HttpFailure,
  parseJsonAnswer,
  type BoundedAnswer,
  type HttpClient,
} from '../../../platform/http/http-client.ts';
import { parseRetryAfter } from '../../../platform/http/retry-after.ts';
import { readTokenFile, TokenFileError } from '../../../platform/files/token-file.ts';
import type { SecretMask } from '../../../platform/logging/secret-mask.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { JSON_MEDIA_TYPE } from '../../../contract/json/media-types.ts';
import { TRACE_HEADER } from './error-answer.ts';
import type { AskOptions } from './ask-until-settled.ts';
import type { Breaker } from './breaker.ts';
import type { ProviderConfiguration } from './provider-config.ts';
import { requestStyle } from './provider-presets.ts';
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
  readonly breaker: Breaker;
}

interface ProviderCall {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  /** Below the URL of the provider. */
  readonly path: string;
  /** The body, given the API key; `null` when there is none. Absent: a request without a body. */
  readonly body?: (key: string | null) => unknown;
  /** The headers that have the API key. */
  readonly keyHeaders?: (key: string) => Readonly<Record<string, string>>;
  /** Characters of the sources, for the rate limit. */
  readonly characters: number;
  readonly signal: AbortSignal;
  /** Called when the request leaves. */
  readonly sent: () => void;
}

/**
 * Sends a request once, at the rate of the provider. The configuration must have a URL.
 *
 * @returns the answer, of any status
 * @throws ProviderError without a complete answer; the reason of the signal
 */
export async function askProvider(
  { config, rateLimit, clock, secrets, client }: ProviderHttpOptions,
  call: ProviderCall,
): Promise<BoundedAnswer> {
  const { limits, headers, query } = config;
  const base = requestStyle(config).url ?? '';
  await rateLimit.take(call.characters, call.signal);
  const key = await readKey(config, secrets);
  const url = new URL(call.path, base.endsWith('/') ? base : `${base}/`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const keyHeaders = key === null ? {} : call.keyHeaders?.(key);
  const typed = call.body === undefined ? {} : { 'content-type': JSON_MEDIA_TYPE };
  call.sent();
  const answer = await client
    .send({
      url,
      method: call.method ?? 'POST',
      headers: { ...typed, ...headers, ...keyHeaders },
      body: call.body === undefined ? undefined : JSON.stringify(call.body(key)),
      wantedHeaders: [TRACE_HEADER],
      timeoutMs: limits.timeoutSeconds * 1000,
      maxBytes: limits.answerBytes,
      signal: call.signal,
    })
    .catch((error: unknown) => {
      throw error instanceof HttpFailure ? errorOfTransport(error) : error;
    });
  if ([429, 529].includes(answer.status))
    rateLimit.throttled(parseRetryAfter(answer.retryAfter ?? null, clock.now()) ?? 0);
  else if (answer.status < 300) rateLimit.succeeded();
  return answer;
}

/** The JSON of an answer. @throws ProviderError `answer_malformed` */
export function jsonOfAnswer(answer: BoundedAnswer): unknown {
  try {
    return parseJsonAnswer(answer);
  } catch (cause) {
    throw new ProviderError('answer_malformed', messageOf(cause), { cause });
  }
}

async function readKey({ tokenFile }: ProviderConfiguration, secrets: SecretMask): Promise<string | null> {
  if (tokenFile === undefined) return null;
  try {
    const key = await readTokenFile(tokenFile);
    secrets.learn(key);
    return key;
  } catch (error) {
    if (!(error instanceof TokenFileError)) throw error;
    throw new ProviderError('provider_credentials', error.message, { cause: error });
  }
}

function errorOfTransport(cause: HttpFailure): ProviderError {
  const { code, message } = cause;
  if (code === 'timeout') return new ProviderError('provider_timeout', message, { cause });
  if (code === 'unreachable') return new ProviderError('provider_unreachable', message, { cause });
  if (code === 'answer_too_large') return new ProviderError('answer_too_large', message, { cause });
  return new ProviderError('answer_malformed', message, { cause });
}

/** How the units of a request are asked for. */
export function askOptions(
  { config, breaker }: ProviderHttpOptions,
  {
    counts,
    hasFallback = false,
    signal,
  }: {
    readonly counts: AskOptions['counts'];
    readonly hasFallback?: boolean;
    readonly signal: AbortSignal;
  },
): AskOptions {
  const { batchUnits, batchCharacters, requestsPerUnit } = config.limits;
  return {
    size: { units: batchUnits, characters: batchCharacters },
    requestsPerUnit,
    breaker,
    counts,
    // The fallback can be asked at once.
    longestWaitMs: hasFallback ? 0 : undefined,
    signal,
  };
}
