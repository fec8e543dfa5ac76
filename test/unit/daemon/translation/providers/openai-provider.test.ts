import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSpending } from '../../../../../src/daemon/translation/providers/spending.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import {
  completion,
  goodRows,
  linesOf,
  openProvider,
  requestOf,
  sendJson,
  startProviderServer,
  translate,
  unit,
  type Reply,
} from './provider-harness.ts';

const three = [unit('a', 'こんにちは{name}'), unit('b', 'さようなら'), unit('c', 'ありがとう<b>%d</b>')];
const translated = { a: 'こんにちは{name}*', b: 'さようなら*', c: 'ありがとう<b>%d</b>*' };

async function against(reply: Reply, settings: object = {}) {
  const server = await startProviderServer(reply);
  const opened = await openProvider({
    kind: 'openai',
    url: `${server.url}/v1`,
    model: 'm',
    allowHosts: ['127.0.0.1'],
    ...settings,
  });
  return { ...server, ...opened };
}

const good: Reply = (call, response) => sendJson(response, completion(goodRows(call)));

describe('the provider for chat completions', () => {
  it('asks for every id with a strict schema, and keeps secrets out of the body', async () => {
    const tokenFile = join(await temporaryDirectory(), 'key');
    await writeFile(tokenFile, 'sk-secret-key-1\n');
    const { provider, calls } = await against(good, { tokenFile });
    const { texts, outcome } = await translate(provider, requestOf(three));
    expect(texts).toEqual(translated);
    expect(outcome.results[0]?.providerRunId).toBe('run-1');
    const [call] = calls;
    expect(call?.path).toBe('/v1/chat/completions');
    expect(call?.authorization).toBe('Bearer sk-secret-key-1');
    expect(JSON.stringify(call?.body)).not.toContain('sk-secret');
    const { schema, strict } = call!.body.response_format!.json_schema!;
    expect([strict, schema.required, schema.additionalProperties]).toEqual([true, ['u1', 'u2', 'u3'], false]);
    expect(linesOf(call!)[0]).toMatchObject({ id: 'u1', text: 'こんにちは<x id="1"/>' });
  });

  it.each<[string, string, Reply]>([
    [
      'HTML',
      'answer_malformed',
      (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    ],
    ['half of a body', 'answer_malformed', (_, response) => sendJson(response, '{"choices":[{"mess')],
    [
      'half of an answer',
      'answer_malformed',
      (_, response) => sendJson(response, completion('{"u1":{"s":"こん')),
    ],
    ['no choices', 'answer_malformed', (_, response) => sendJson(response, { choices: [] })],
    ['null', 'answer_malformed', (_, response) => sendJson(response, 'null')],
    [
      'wrong ids',
      'answer_malformed',
      (_, response) => sendJson(response, completion({ x9: { s: '', t: 'x' } })),
    ],
    [
      'one id twice',
      'answer_malformed',
      (_, response) => sendJson(response, completion('{"u1":{"s":"a","t":"a"},"u1":{"s":"a","t":"b"}}')),
    ],
    [
      'a refusal',
      'answer_refused',
      (_, response) =>
        sendJson(response, completion('', { message: { content: null, refusal: 'I will not' } })),
    ],
    [
      'a stop by the filter',
      'answer_refused',
      (call, response) => sendJson(response, completion(goodRows(call), { finish_reason: 'content_filter' })),
    ],
    [
      'a cut answer',
      'answer_cut',
      (call, response) => sendJson(response, completion(goodRows(call), { finish_reason: 'length' })),
    ],
    [
      'empty translations',
      'answer_malformed',
      (call, response) => {
        const rows = Object.entries(goodRows(call)).map(([id, { s }]) => [id, { s, t: ' ' }]);
        sendJson(response, completion(Object.fromEntries(rows)));
      },
    ],
    [
      '100 MiB',
      'answer_too_large',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 * 1024 ** 2 });
        const fill = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
        };
        response.on('drain', fill);
        fill();
      },
    ],
  ])('fails each unit by itself for %s, after halves and two single requests', async (_, code, reply) => {
    const { provider, calls } = await against(reply, { limits: { answerBytes: 65_536 } });
    const { texts, codes } = await translate(provider, requestOf(three));
    expect(texts).toEqual({});
    expect(codes).toEqual({ a: code, b: code, c: code });
    // All three, the half with a and b, and each unit alone twice.
    expect(calls.length).toBe(8);
  });

  it.each<[string, string, Reply]>([
    ['500', 'provider_error', (_, response) => sendJson(response, {}, 500)],
    ['429', 'provider_throttled', (_, response) => sendJson(response, {}, 429, { 'retry-after': '7' })],
    ['a closed connection', 'provider_unreachable', (_, response) => response.destroy()],
  ])('sends a request again after %s, and then fails the units for later', async (_, code, reply) => {
    const { provider, calls, clock } = await against(reply, { limits: { attempts: 3, batchUnits: 1 } });
    const { codes } = await translate(provider, requestOf(three));
    expect(codes).toEqual({ a: code, b: code, c: code });
    expect(calls.length).toBe(3);
    if (code === 'provider_throttled') expect(clock.slept[0]).toBe(7000);
  });

  it('continues after 429, and does not wait longer than allowed', async () => {
    let answered = 0;
    const { provider, calls } = await against((call, response, request) => {
      answered += 1;
      if (answered === 1) sendJson(response, {}, 429, { 'retry-after': '1' });
      else good(call, response, request);
    });
    expect((await translate(provider, requestOf(three))).texts).toEqual(translated);
    expect(calls.length).toBe(2);
    const later = await against((_, response) => sendJson(response, {}, 429, { 'retry-after': '200' }));
    const { outcome } = await translate(later.provider, requestOf(three));
    expect(outcome.failures.map(({ retryAfterMs }) => retryAfterMs)).toEqual([200_000, 200_000, 200_000]);
    expect([later.calls.length, later.clock.slept]).toEqual([1, []]);
  });

  it.each<[string, Reply]>([
    ['never answers', () => undefined],
    [
      'never ends',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => response.write(' '), 50);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('gives up a server that %s, once', async (_, reply) => {
    const { provider, calls } = await against(reply, { limits: { timeoutSeconds: 1 } });
    const { codes } = await translate(provider, requestOf(three));
    expect(codes).toEqual({ a: 'provider_timeout', b: 'provider_timeout', c: 'provider_timeout' });
    expect(calls.length).toBe(1);
  });

  it('keeps the rows that fit, and asks again for swapped, missing and damaged ones only', async () => {
    const { provider, calls } = await against((call, response) => {
      const rows = goodRows(call);
      if (linesOf(call).length === 3) {
        [rows['u1'], rows['u2']] = [rows['u2']!, rows['u1']!];
      }
      sendJson(response, completion(rows));
    });
    expect((await translate(provider, requestOf(three))).texts).toEqual(translated);
    expect(calls.map((call) => linesOf(call).length)).toEqual([3, 2]);
    const damaged = await against((call, response) => {
      const rows = Object.entries(goodRows(call)).map(([id, { s, t }]) => [
        id,
        { s, t: t.replace(/<x[^>]*>/, '') },
      ]);
      sendJson(response, completion(Object.fromEntries(rows)));
    });
    const { texts, codes } = await translate(damaged.provider, requestOf(three));
    expect([texts, codes]).toEqual([
      { b: translated.b },
      { a: 'placeholders_changed', c: 'placeholders_changed' },
    ]);
  });

  it('falls back to simpler formats and stays there', async () => {
    const { provider, calls } = await against((call, response) => {
      if (call.body.response_format !== undefined) sendJson(response, { error: { message: 'no' } }, 400);
      else sendJson(response, completion(`Here:\n\`\`\`json\n${JSON.stringify(goodRows(call))}\n\`\`\``));
    });
    expect((await translate(provider, requestOf(three))).texts).toEqual(translated);
    await translate(provider, requestOf(three));
    expect(calls.map(({ body }) => body.response_format?.type)).toEqual([
      'json_schema',
      'json_object',
      undefined,
      undefined,
    ]);
  });

  it('splits a prompt that does not fit the model', async () => {
    const { provider, calls } = await against((call, response, request) => {
      if (linesOf(call).length > 1) sendJson(response, { error: { code: 'context_length_exceeded' } }, 400);
      else good(call, response, request);
    });
    expect((await translate(provider, requestOf(three))).texts).toEqual(translated);
    expect(calls.length).toBe(5);
  });

  it('stops for a key that is refused, and shows the key nowhere', async () => {
    const tokenFile = join(await temporaryDirectory(), 'key');
    await writeFile(tokenFile, 'sk-secret-key-2');
    const { provider, calls } = await against(
      (call, response) => sendJson(response, { error: { message: `bad ${call.authorization}` } }, 401),
      { tokenFile, limits: { batchUnits: 1 } },
    );
    const { outcome, codes } = await translate(provider, requestOf(three));
    expect(codes).toEqual({ a: 'provider_rejected', b: 'provider_rejected', c: 'provider_rejected' });
    expect(outcome.failures[0]?.message).toContain('status 401: bad Bearer [redacted]');
    expect(JSON.stringify(outcome)).not.toContain('sk-secret');
    expect(calls.length).toBe(1);
  });

  it('sends nothing without its key, and follows no redirect', async () => {
    const { provider, calls } = await against(good, { tokenFile: '/nowhere/key' });
    expect((await translate(provider, requestOf(three))).codes['a']).toBe('provider_credentials');
    expect(calls).toEqual([]);
    const moved = await against((_, response) =>
      response.writeHead(307, { location: 'http://example.com/' }).end(),
    );
    expect((await translate(moved.provider, requestOf(three))).codes['a']).toBe('provider_rejected');
    expect(moved.calls.length).toBe(1);
  });

  it('stops at the cap of tokens, keeps results, and counts the usage', async () => {
    const prices = { promptTokensPerMillion: 1_000_000, answerTokensPerMillion: 500_000 };
    const { provider, calls } = await against(good, { limits: { batchUnits: 1 }, prices });
    const estimate = provider.estimate(requestOf(three.slice(0, 1)));
    const maxTokens = estimate.promptTokens + estimate.answerTokens + 50;
    const spending = createSpending({ maxTokens, maxCost: null });
    const { texts, codes, outcome } = await translate(provider, requestOf(three, { spending }));
    expect(Object.keys(texts)).toEqual(['a']);
    expect(codes).toEqual({ b: 'cap_reached', c: 'cap_reached' });
    expect(calls.length).toBe(1);
    expect(calls[0]?.body.max_tokens).toBe(maxTokens - estimate.promptTokens);
    expect(outcome.usage).toEqual({
      requests: 1,
      promptTokens: 100,
      answerTokens: 10,
      characters: three[0]!.sourceText.length,
      cost: 105,
    });
    expect(spending.used()).toEqual(outcome.usage);
    const cheap = createSpending({ maxTokens: null, maxCost: 1 });
    expect((await translate(provider, requestOf(three, { spending: cheap }))).codes['a']).toBe('cap_reached');
    expect(calls.length).toBe(1);
  });

  it('ends immediately when it is cancelled', async () => {
    const abort = new AbortController();
    const { provider } = await against(() => abort.abort(new Error('cancelled')));
    await expect(provider.translateBatch(requestOf(three, { signal: abort.signal }))).rejects.toThrow(
      'cancelled',
    );
  });

  it('fails a unit with too many placeholders and sends the others', async () => {
    const many = Array.from({ length: 6401 }, (_, index) => `{${index}}`).join('');
    const { provider } = await against(good, { limits: { batchCharacters: 100_000 } });
    const { texts, codes } = await translate(provider, requestOf([unit('z', many), three[1]!]));
    expect([texts, codes]).toEqual([{ b: translated.b }, { z: 'too_many_placeholders' }]);
  });
});
