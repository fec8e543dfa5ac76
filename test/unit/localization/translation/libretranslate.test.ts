import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RequestCounts } from '../../../../src/localization/translation/providers/provider.ts';
import {
  openProvider,
  requestOf,
  sendJson,
  startProviderServer,
  translate,
  unit,
  type Reply,
  type SeenCall,
} from '../../../support/provider-harness.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const two = [unit('a', 'こんにちは{name}'), unit('b', 'さようなら')];
const TRANSLATED = { a: 'こんにちは{name}*', b: 'さようなら*' };

const offered = (...codes: readonly string[]): object[] =>
  codes.map((code) => ({ code, name: code, targets: codes }));

interface Behaviour {
  readonly languages?: Reply;
  readonly translate?: Reply;
}

/** As LibreTranslate answers. */
const starred: Reply = ({ body: { q } }, response) => {
  sendJson(response, { translatedText: typeof q === 'string' ? `${q}*` : q.map((text) => `${text}*`) });
};

const withLanguages =
  (...codes: readonly string[]): Reply =>
  (_call, response) =>
    sendJson(response, offered(...codes));

/** As LTEngine answers a list: its `q` is a text. */
const oneTextOnly: Reply = (call, response, request) => {
  if (typeof call.body.q === 'string') starred(call, response, request);
  else {
    const error = 'Json deserialize error: invalid type: sequence, expected a string at line 1 column 6';
    sendJson(response, { error }, 400);
  }
};

async function against(behaviour: Behaviour = {}, settings: object = {}) {
  const { languages = withLanguages('en', 'ja', 'zh-Hans', 'zh-Hant'), translate: answer = starred } =
    behaviour;
  const server = await startProviderServer((call, response, request) => {
    (call.path === '/languages' ? languages : answer)(call, response, request);
  });
  const base = { kind: 'libretranslate', url: server.url, allowHosts: ['127.0.0.1'], mask: 'brackets' };
  const asked = (): readonly SeenCall[] => server.calls.filter(({ path }) => path === '/translate');
  return { ...server, ...(await openProvider({ ...base, ...settings })), asked };
}

describe('LibreTranslate', () => {
  it('is asked for its languages, then with lists of masked texts', async () => {
    const tokenFile = join(await temporaryDirectory(), 'key');
    await writeFile(tokenFile, 'libre-secret-key');
    const { provider, calls } = await against({}, { tokenFile, prices: { charactersPerMillion: 1_000_000 } });
    const { texts, outcome } = await translate(provider, requestOf(two));
    expect(texts).toEqual(TRANSLATED);
    expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /languages',
      'POST /translate',
    ]);
    expect(calls[1]).toMatchObject({
      authorization: undefined,
      body: {
        q: ['こんにちは[[1]]', 'さようなら'],
        source: 'ja',
        target: 'zh-Hans',
        format: 'text',
        api_key: 'libre-secret-key',
      },
    });
    expect(outcome.usage).toMatchObject({ requests: 2, cost: 'こんにちは{name}さようなら'.length });
    expect(provider.estimate(requestOf(two))).toEqual({ ...outcome.usage, requests: 1 });
  });

  it.each([
    ['zh-Hans', ['ja', 'zh', 'zt'], 'zh'],
    ['zh-Hant', ['ja', 'zh', 'zt'], 'zt'],
    ['zh-TW', ['ja', 'zh-Hans', 'zh-Hant'], 'zh-Hant'],
    ['zh-Hans', ['ja', 'zh-Hans', 'zh-Hant'], 'zh-Hans'],
    ['pt-BR', ['ja', 'pt', 'pb'], 'pb'],
    ['pt-BR', ['ja', 'pt', 'pt-BR'], 'pt-BR'],
    ['pt', ['ja', 'pb', 'pt'], 'pt'],
    ['nb', ['ja', 'no'], 'no'],
    ['en-GB', ['ja', 'en'], 'en'],
  ])('is asked for %s by its own code, of %j: %s', async (targetLanguage, codes, target) => {
    const { provider, asked } = await against({ languages: withLanguages(...codes) });
    await translate(provider, requestOf(two, { targetLanguage }));
    expect(asked()[0]?.body).toMatchObject({ source: 'ja', target });
  });

  it.each<[string, Reply, string]>([
    ['the target', withLanguages('ja', 'zh'), 'from "ja" into "zh-Hant": it has ja, zh; install'],
    ['the source', withLanguages('en', 'zt'), 'from "ja": it has en, zt; install'],
    [
      'the pair',
      (_call, response) =>
        sendJson(response, [
          { code: 'ja', targets: ['en'] },
          { code: 'zt', targets: [] },
        ]),
      'from "ja" into "zh-Hant": it has en; install',
    ],
  ])(
    'is asked for nothing when it does not have %s, and says what it has',
    async (_what, languages, message) => {
      const { provider, asked } = await against({ languages });
      const { codes, outcome } = await translate(provider, requestOf(two, { targetLanguage: 'zh-Hant' }));
      expect(codes).toEqual({ a: 'provider_rejected', b: 'provider_rejected' });
      expect(outcome.failures[0]?.message).toContain(message);
      expect(asked()).toEqual([]);
    },
  );

  it('is asked for its languages again by the next run, and is trusted when it does not have the list', async () => {
    let codes = ['ja', 'en'];
    const { provider } = await against({
      languages: (_call, response) => sendJson(response, offered(...codes)),
    });
    expect((await translate(provider, requestOf(two))).codes).toEqual({
      a: 'provider_rejected',
      b: 'provider_rejected',
    });
    codes = ['ja', 'zh'];
    provider.beginRun();
    expect((await translate(provider, requestOf(two))).texts).toEqual(TRANSLATED);
    const other = await against({ languages: (_call, response) => sendJson(response, {}, 404) });
    expect((await translate(other.provider, requestOf(two))).texts).toEqual(TRANSLATED);
    expect(other.asked()[0]?.body).toMatchObject({ source: 'ja', target: 'zh-Hans' });
  });

  it.each<[string, Reply]>([
    ['LTEngine', oneTextOnly],
    [
      'a server that checks with pydantic',
      (call, response, request) => {
        if (typeof call.body.q === 'string') starred(call, response, request);
        else
          sendJson(
            response,
            { detail: [{ type: 'string_type', loc: ['body', 'q'], msg: 'Input should be a valid string' }] },
            422,
          );
      },
    ],
    [
      'a server that writes the list as a text',
      (call, response, request) => {
        if (typeof call.body.q === 'string') starred(call, response, request);
        else sendJson(response, { translatedText: JSON.stringify(call.body.q) });
      },
    ],
  ])('is asked for each text alone where lists are refused, and remembers it: %s', async (_who, reply) => {
    const { provider, asked } = await against({ translate: reply });
    const { texts, outcome } = await translate(provider, requestOf(two));
    expect(texts).toEqual(TRANSLATED);
    expect(outcome.usage).toMatchObject({ requests: 4, characters: 'こんにちは{name}さようなら'.length });
    await translate(provider, requestOf([unit('c', 'はい'), unit('d', 'いいえ')]));
    expect(asked().map(({ body }) => body.q)).toEqual([
      ['こんにちは[[1]]', 'さようなら'],
      'こんにちは[[1]]',
      'さようなら',
      'はい',
      'いいえ',
    ]);
    expect(provider.estimate(requestOf(two)).requests).toBe(2);
  });

  it('keeps the texts before trouble where each is asked for alone', async () => {
    let isOut = true;
    const { provider, asked } = await against({
      translate: (call, response, request) => {
        if (call.body.q === 'さようなら' && isOut) {
          isOut = false;
          sendJson(response, { error: 'Slowdown: 10 per 1 minute' }, 429);
        } else oneTextOnly(call, response, request);
      },
    });
    expect((await translate(provider, requestOf(two))).texts).toEqual(TRANSLATED);
    expect(asked().filter(({ body }) => body.q === 'こんにちは[[1]]')).toHaveLength(1);
  });

  it.each([
    ['a wrong key', 403, 'Invalid API key', 'provider_credentials'],
    ['a wait that is too long', 429, 'Slowdown: 10 per 1 minute', 'provider_throttled'],
  ])('reports trouble after the first text, and counts what was sent: %s', async (...row) => {
    const [, status, error, code] = row;
    const { provider, set, asked } = await against(
      {
        translate: (call, response, request) => {
          if (call.body.q === 'さようなら') sendJson(response, { error }, status, { 'retry-after': '300' });
          else oneTextOnly(call, response, request);
        },
      },
      { prices: { charactersPerMillion: 1_000_000 } },
    );
    const counts = new Map() as RequestCounts;
    const three = [...two, unit('c', 'はい')];
    const { texts, codes, outcome } = await translate(provider, requestOf(three, { counts }));
    expect(texts).toEqual({ a: TRANSLATED.a });
    expect(codes).toEqual({ b: code, c: code });
    expect(outcome.failures.every(({ message }) => message.includes(error))).toBe(true);
    expect(asked().at(-1)?.body.q).toBe('さようなら');
    expect([...counts]).toEqual([['a', { times: 1, reason: null }]]);
    expect(outcome.usage).toMatchObject({ requests: 4, cost: 'こんにちは{name}'.length });
    expect(set.stateOf('mine')?.lastFailure?.code).toBe(code);
  });

  it('halves a list that is longer than the server takes, and fails a text alone that is', async () => {
    const limit: Reply = (call, response, request) => {
      const texts = [call.body.q].flat();
      const size = texts.length > 2 ? texts.length : Math.max(...texts.map((text) => text.length));
      const most = texts.length > 2 ? 2 : 20;
      if (size <= most) starred(call, response, request);
      else {
        const error = `Invalid request: request (${size}) exceeds text limit (${most})`;
        sendJson(response, { error }, 400);
      }
    };
    const { provider, asked } = await against({ translate: limit });
    const { texts, codes } = await translate(provider, requestOf([...two, unit('c', 'あ'.repeat(21))]));
    expect(texts).toEqual(TRANSLATED);
    expect(codes).toEqual({ c: 'request_too_large' });
    expect(asked().map(({ body }) => body.q.length)).toEqual([3, 2, 1]);
  });

  it.each<[string, string, Reply]>([
    ['too few texts', 'provider_unusable', (_, response) => sendJson(response, { translatedText: [] })],
    [
      'numbers',
      'provider_unusable',
      ({ body }, response) => sendJson(response, { translatedText: [body.q].flat().map(() => 1) }),
    ],
    ['413', 'request_too_large', (_, response) => sendJson(response, {}, 413)],
    [
      'a language that was removed',
      'provider_rejected',
      (_, response) => sendJson(response, { error: 'zh-Hans is not supported' }, 400),
    ],
    [
      'a pair without a model',
      'provider_rejected',
      (_, response) =>
        sendJson(
          response,
          { error: 'Chinese (zh-Hans) is not available as a target language from Japanese (ja)' },
          400,
        ),
    ],
    [
      'a wrong key',
      'provider_credentials',
      (_, response) => sendJson(response, { error: 'Invalid API key' }, 403),
    ],
    [
      'no key',
      'provider_credentials',
      (_, response) =>
        sendJson(response, { error: 'Visit https://portal.libretranslate.com to get an API key' }, 400),
    ],
    [
      'too many requests',
      'provider_throttled',
      (_, response) => sendJson(response, { error: 'Slowdown: 10 per 1 minute' }, 429),
    ],
    [
      'far too many requests',
      'provider_throttled',
      (_, response) => sendJson(response, { error: 'Too many request limits violations' }, 403),
    ],
    [
      'an error of its model',
      'provider_error',
      (_, response) => sendJson(response, { error: 'Cannot translate text: x' }, 500),
    ],
  ])('fails the units for %s', async (_, code, reply) => {
    const { provider } = await against({ translate: reply });
    expect((await translate(provider, requestOf(two))).codes).toEqual({ a: code, b: code });
  });
});
