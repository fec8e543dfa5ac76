import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import {
  providerConfigurationSchema,
  type ProviderConfiguration,
} from '../../src/localization/translation/providers/provider-config.ts';
import {
  createProviderSet,
  type ProviderSet,
} from '../../src/localization/translation/providers/provider-set.ts';
import type {
  TranslationProvider,
  TranslationOutcome,
  TranslationRequest,
  UnitToTranslate,
} from '../../src/localization/translation/providers/provider.ts';
import { createSpending } from '../../src/localization/translation/providers/spending.ts';
import { createHttpClient } from '../../src/platform/http/http-client.ts';
import { listen } from '../../src/platform/http/listen.ts';
import { createSecretMask } from '../../src/platform/logging/secret-mask.ts';
import type { AtEnd } from './shared-fixture.ts';
import type { Clock } from '../../src/platform/process/clock.ts';

/** A request as a test's server sees it. */
export interface SeenCall {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: SeenBody;
}

/** The parts of a request's body that tests look at; each kind of provider sends some of them. */
export interface SeenBody {
  readonly messages: readonly [{ readonly content: string }, { readonly content: string }];
  readonly max_tokens: number;
  readonly response_format?: {
    readonly type: string;
    readonly json_schema?: {
      readonly strict: boolean;
      readonly schema: { readonly required: readonly string[]; readonly additionalProperties: boolean };
    };
  };
  /** LibreTranslate. */
  readonly q: string | readonly string[];
  /** DeepL. */
  readonly text: readonly string[];
}

/** Answers one call. */
export type Reply = (call: SeenCall, response: ServerResponse, request: IncomingMessage) => void;

/** A clock whose sleeps end immediately. It records their lengths. */
export function quickClock(): Clock & { readonly slept: number[] } {
  let now = Date.UTC(2026, 0, 1);
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    monotonic: () => now,
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      slept.push(ms);
      now += ms;
      await Promise.resolve();
    },
  };
}

/** A real server on loopback. */
export async function startProviderServer(
  reply: Reply,
  atEnd: AtEnd = onTestFinished,
): Promise<{ readonly url: string; readonly calls: readonly SeenCall[] }> {
  const calls: SeenCall[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const call = {
        method: request.method ?? '',
        path: request.url ?? '',
        authorization: request.headers.authorization,
        headers: request.headers,
        body: JSON.parse(body === '' ? '{}' : body) as SeenBody,
      };
      calls.push(call);
      reply(call, response, request);
    });
  });
  const listening = await listen(server, { host: '127.0.0.1', port: 0 });
  atEnd(async () => {
    server.closeAllConnections();
    await listening.close(AbortSignal.abort());
  });
  return { url: listening.url, calls };
}

/** A provider with the parts of its world. */
export interface OpenedProvider {
  readonly provider: TranslationProvider;
  readonly clock: ReturnType<typeof quickClock>;
  readonly set: ProviderSet;
}

/** Opens a provider with its configuration, as the daemon does. */
export async function openProvider(
  settings: object,
  fixturePath: string | null = null,
): Promise<OpenedProvider> {
  const config: ProviderConfiguration = providerConfigurationSchema.parse(settings);
  const client = createHttpClient({ connections: 8, keepAlive: true });
  onTestFinished(() => {
    client.close();
  });
  const clock = quickClock();
  const secrets = createSecretMask();
  const set = createProviderSet({ mine: config }, { clock, random: () => 0, secrets, client });
  const provider = (await set.open({ name: 'mine', fixturePath, signal: new AbortController().signal }))!;
  return { provider, clock, set };
}

/** A unit with nothing around it. */
export function unit(
  unitId: string,
  sourceText: string,
  more: Partial<UnitToTranslate> = {},
): UnitToTranslate {
  const nothing = { place: 0, around: [], constraints: [], examples: [], findings: [] };
  return { unitId, sourceText, speaker: null, kind: null, scene: null, maxLength: null, ...nothing, ...more };
}

/** A request without caps. */
export function requestOf(
  units: readonly UnitToTranslate[],
  more: Partial<TranslationRequest> = {},
): TranslationRequest {
  return {
    sourceLanguage: 'ja',
    targetLanguage: 'zh-Hans',
    units: units.map((each, place) => (each.around.length === 0 ? { ...each, place } : each)),
    characters: [],
    about: [],
    spending: createSpending({ maxTokens: null, maxCost: null }),
    counts: new Map(),
    signal: new AbortController().signal,
    ...more,
  };
}

/** The unit ids with their texts, and the failures with their codes. */
export async function translate(
  provider: TranslationProvider,
  request: TranslationRequest,
): Promise<{
  readonly outcome: TranslationOutcome;
  readonly texts: Readonly<Record<string, string>>;
  readonly codes: Readonly<Record<string, string>>;
}> {
  const outcome = await provider.translateBatch(request);
  return {
    outcome,
    texts: Object.fromEntries(outcome.results.map(({ unitId, translatedText }) => [unitId, translatedText])),
    codes: Object.fromEntries(outcome.failures.map(({ unitId, code }) => [unitId, code])),
  };
}

/** Sends JSON. */
export function sendJson(response: ServerResponse, body: unknown, status = 200, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** The lines of a chat request. */
export function linesOf({ body }: SeenCall): readonly { readonly id: string; readonly text: string }[] {
  const { script } = JSON.parse(body.messages[1].content) as { script: readonly (object | string)[] };
  return script.filter(
    (entry): entry is { id: string; text: string } => typeof entry === 'object' && 'id' in entry,
  );
}

/** Good rows for the lines of a chat request: each text with a star. */
export function goodRows(call: SeenCall): Record<string, { s: string; t: string }> {
  return Object.fromEntries(
    linesOf(call).map(({ id, text }) => [id, { s: Array.from(text).slice(0, 12).join(''), t: `${text}*` }]),
  );
}

/** A chat completion with a text. */
export function completion(content: unknown, choice: object = {}, more: object = {}): object {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return {
    id: 'run-1',
    choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop', ...choice }],
    usage: { prompt_tokens: 100, completion_tokens: 10 },
    ...more,
  };
}
