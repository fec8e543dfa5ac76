import pLimit from 'p-limit';
import { z } from 'zod';
import { isBearerToken } from '../../platform/http/bearer-token.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { beginningOf, type UpstreamAnswer, type UpstreamHttpClient } from '../http/http-client.ts';
import { failureOfStatus } from '../http/http-failures.ts';
import { quoteText, redactUrl } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';
import { parseChallenge, wantsPassword, type BearerChallenge } from './oci-challenge.ts';

/** How often one request is sent again with a new token: others may use up a token that is good for a few requests. */
const RENEWALS_MAX = 3;
/** How long a token is good whose service does not say. Source: distribution, "Token Authentication Specification". */
const TOKEN_SECONDS = 60;

const tokenSchema = z.object({
  token: z.string().refine(isBearerToken).optional(),
  access_token: z.string().refine(isBearerToken).optional(),
  expires_in: z.number().min(1).max(31_536_000).optional().catch(undefined),
});

export interface RegistryAccessOptions {
  /** Base URL of the registry, without a trailing slash. */
  readonly url: string;
  readonly repository: string;
  /** Sends to the registry, with the authorization set last. */
  readonly client: UpstreamHttpClient;
  readonly clock: Clock;
  /** The configured name and password as a value of `Authorization`; `null` without them. */
  readonly password: string | null;
  /** Sets what later requests to the registry carry as `Authorization`. */
  readonly authorize: (authorization: string) => void;
  /**
   * Asks the token service of a challenge, where that is one that may be asked.
   *
   * @param query for the token
   * @returns its answer
   * @throws UpstreamError
   */
  readonly askTokens: (
    challenge: BearerChallenge,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<Buffer>;
}

type RegistryRequest = Parameters<UpstreamHttpClient['send']>[0] & {
  /** Whether the registry is known to have it, so that a refusal can only mean that a token has expired. */
  readonly isKnown?: boolean;
};

export interface RegistryAccess {
  /** @throws UpstreamError, with what the registry said */
  send(request: RegistryRequest, signal: AbortSignal): Promise<UpstreamAnswer>;
}

/** What a registry wants, and what it has got. */
class Credentials {
  readonly #options: RegistryAccessOptions;
  #challenge: BearerChallenge | null = null;
  #token: { readonly text: string; readonly expiresAt: number } | null = null;
  #hasSentPassword = false;
  /** Whether the registry takes the password although it names a token service. */
  #takesPassword = false;
  /** How often later requests got other credentials. */
  #changes = 0;

  constructor(options: RegistryAccessOptions) {
    this.#options = options;
  }

  get changes(): number {
    return this.#changes;
  }

  get hasToken(): boolean {
    return this.#token !== null;
  }

  get hasExpired(): boolean {
    return this.#token !== null && this.#options.clock.now() >= this.#token.expiresAt;
  }

  async renew(signal: AbortSignal): Promise<void> {
    if (this.#challenge === null) return;
    const { text, seconds } = await fetchToken(this.#options, this.#challenge, signal);
    this.#token = { text, expiresAt: this.#options.clock.now() + seconds * 1000 };
    this.#authorize(`Bearer ${text}`);
  }

  /** Takes what a refusal wants. @returns whether another request may have another answer */
  async heed(answer: UpstreamAnswer, signal: AbortSignal): Promise<boolean> {
    // The target of a redirect is not the registry: it must not choose where a password goes.
    if (!this.#isRegistry(answer) || this.#takesPassword) return false;
    const field = [answer.headers['www-authenticate'] ?? []].flat().join(', ');
    this.#challenge = parseChallenge(field) ?? this.#challenge;
    if (this.#challenge !== null) {
      await this.renew(signal);
      return true;
    }
    return (field === '' || wantsPassword(field)) && this.#sendPassword();
  }

  /** Tries the password where no token is accepted: some registries name a token service and take a password alone. */
  async tryPassword(refused: UpstreamAnswer, send: () => Promise<UpstreamAnswer>): Promise<UpstreamAnswer> {
    const token = this.#token;
    if (refused.status !== 401 || token === null || !this.#isRegistry(refused) || !this.#sendPassword())
      return refused;
    const answer = await send();
    if (answer.status === 401 || answer.status === 403) {
      answer.discard();
      this.#authorize(`Bearer ${token.text}`);
      return refused;
    }
    refused.discard();
    this.#takesPassword = true;
    this.#token = null;
    return answer;
  }

  #sendPassword(): boolean {
    const { password } = this.#options;
    if (password === null || this.#hasSentPassword) return false;
    this.#hasSentPassword = true;
    this.#authorize(password);
    return true;
  }

  #authorize(authorization: string): void {
    this.#changes += 1;
    this.#options.authorize(authorization);
  }

  #isRegistry(answer: UpstreamAnswer): boolean {
    return new URL(answer.url).origin === new URL(this.#options.url).origin;
  }
}

/**
 * Makes the access to a repository. The registry says at `/v2/`, without credentials, which it wants: many answer a password that
 * they do not want with 403, and a request without a token with 404. Where `/v2/` tells nothing, the first refusal does.
 *
 * Source: OCI distribution specification 1.1, "Determining Support"; distribution, "Token Authentication Specification".
 */
export function createRegistryAccess(options: RegistryAccessOptions): RegistryAccess {
  const { url, client } = options;
  const renewal = pLimit(1);
  const credentials = new Credentials(options);
  let learning: Promise<void> | null = null;

  /** @returns `null` where the answer tells nothing */
  const askSupport = async (signal: AbortSignal): Promise<UpstreamAnswer | null> => {
    try {
      return await client.send({ method: 'GET', url: `${url}/v2/`, accept: [200, 401, 501] }, signal);
    } catch (error) {
      if (error instanceof UpstreamError && !error.retryable) return null;
      throw error;
    }
  };

  const learn = async (signal: AbortSignal): Promise<void> => {
    const answer = await askSupport(signal);
    answer?.discard();
    if (answer?.status === 401) await credentials.heed(answer, signal);
  };

  const learnOnce = async (signal: AbortSignal): Promise<void> => {
    learning ??= learn(signal);
    try {
      await learning;
    } catch (error) {
      learning = null;
      throw error;
    }
  };

  /** Sends a request that was refused again, as long as something new can be tried. */
  const insist = async (
    request: RegistryRequest,
    { refused, changes }: { readonly refused: UpstreamAnswer; readonly changes: number },
    signal: AbortSignal,
  ): Promise<UpstreamAnswer> => {
    const send = async (): Promise<UpstreamAnswer> => await client.send(attemptOf(request), signal);
    let answer = refused;
    try {
      if (credentials.changes !== changes) {
        // Another request has found out meanwhile what the registry wants.
        answer.discard();
        answer = await send();
        if (!REFUSALS.includes(answer.status)) return answer;
      }
      for (let renewals = 0; renewals < RENEWALS_MAX; renewals += 1) {
        const isHidden = answer.status !== 401;
        if (isHidden && credentials.hasToken && (request.isKnown !== true || renewals > 0)) break;
        if (!(await credentials.heed(answer, signal))) break;
        answer.discard();
        answer = await send();
        if (!REFUSALS.includes(answer.status)) break;
      }
      return await credentials.tryPassword(answer, send);
    } catch (error) {
      answer.discard();
      throw error;
    }
  };

  return {
    send: async (request, signal) => {
      await learnOnce(signal);
      if (credentials.hasExpired) {
        await renewal(async () => {
          // Another request may have done it.
          if (credentials.hasExpired) await credentials.renew(signal);
        });
      }
      const { changes } = credentials;
      const first = await client.send(attemptOf(request), signal);
      const answer = REFUSALS.includes(first.status)
        ? await renewal(async () => await insist(request, { refused: first, changes }, signal))
        : first;
      if (request.accept.includes(answer.status)) return answer;
      throw await refusalOf(options, answer);
    },
  };
}

const REFUSALS: readonly number[] = [401, 403, 404];

function attemptOf({
  isKnown: _known,
  ...request
}: RegistryRequest): Parameters<UpstreamHttpClient['send']>[0] {
  return { ...request, accept: [...new Set([...request.accept, ...REFUSALS])], explain: explainRegistry };
}

async function refusalOf(
  { url, repository, clock }: RegistryAccessOptions,
  answer: UpstreamAnswer,
): Promise<UpstreamError> {
  const reason = explainRegistry(await beginningOf(answer));
  const failure =
    answer.status === 403
      ? new UpstreamError(
          'upstream_forbidden',
          `${redactUrl(answer.url)} is denied (status 403): check the name and the password in upstream.oci.url, and ` +
            `whether they may pull ${repository} from ${redactUrl(url)}`,
        )
      : failureOfStatus(answer.status, answer.headers, answer.url, clock.now());
  return reason === null ? failure : failure.withReason(reason);
}

const errorsSchema = z.object({
  errors: z
    .array(z.object({ code: z.string().optional(), message: z.string().optional() }))
    .min(1)
    .max(100),
});

/**
 * What a registry or its token service says about a failure.
 *
 * Source: OCI distribution specification 1.1, "Error Codes". Others send a text, or a page that nobody can read here.
 */
export function explainRegistry(body: Buffer): string | null {
  const text = body.toString('utf8').trim();
  if (text === '' || text.startsWith('<')) return null;
  let said = text;
  try {
    const parsed = errorsSchema.safeParse(JSON.parse(text));
    if (parsed.success) {
      said = parsed.data.errors
        .slice(0, 3)
        .map(({ code, message }) =>
          [code, message].filter((part) => part !== undefined && part !== '').join(': '),
        )
        .join('; ');
    }
  } catch {
    // It is no JSON.
  }
  return said === '' ? null : `the registry says ${quoteText(said)}`;
}

async function fetchToken(
  { repository, askTokens, url }: RegistryAccessOptions,
  challenge: BearerChallenge,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly seconds: number }> {
  const { realm, service } = challenge;
  const scope = `repository:${repository}:pull`;
  const body = await askTokens(challenge, { ...(service === null ? {} : { service }), scope }, signal);
  let value: unknown = null;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    // Below.
  }
  const parsed = tokenSchema.safeParse(value);
  const text = parsed.success ? (parsed.data.token ?? parsed.data.access_token) : undefined;
  if (text === undefined) {
    throw new UpstreamError(
      'upstream_status',
      `the token service ${redactUrl(realm)} of ${redactUrl(url)} gave no usable token`,
    );
  }
  return { text, seconds: parsed.data?.expires_in ?? TOKEN_SECONDS };
}
