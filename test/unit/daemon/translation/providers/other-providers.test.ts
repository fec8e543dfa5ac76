import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import {
  openProvider,
  requestOf,
  sendJson,
  startProviderServer,
  translate,
  unit,
  type Reply,
} from './provider-harness.ts';

const two = [unit('a', 'こんにちは{name}'), unit('b', 'さようなら')];

describe('LibreTranslate', () => {
  async function against(reply: Reply, settings: object = {}) {
    const server = await startProviderServer(reply);
    const base = { kind: 'libretranslate', url: server.url, allowHosts: ['127.0.0.1'], mask: 'brackets' };
    return { ...server, ...(await openProvider({ ...base, ...settings })) };
  }

  it('sends arrays with masked texts and takes arrays', async () => {
    const tokenFile = join(await temporaryDirectory(), 'key');
    await writeFile(tokenFile, 'libre-secret-key');
    const { provider, calls } = await against(
      ({ body }, response) =>
        sendJson(response, { translatedText: body.q.map((text: string) => `${text}*`) }),
      { tokenFile, prices: { charactersPerMillion: 1_000_000 } },
    );
    const { texts, outcome } = await translate(provider, requestOf(two));
    expect(texts).toEqual({ a: 'こんにちは{name}*', b: 'さようなら*' });
    expect(calls[0]).toMatchObject({
      path: '/translate',
      authorization: undefined,
      body: {
        q: ['こんにちは[[1]]', 'さようなら'],
        source: 'ja',
        target: 'zh-Hans',
        format: 'text',
        api_key: 'libre-secret-key',
      },
    });
    expect(outcome.usage.cost).toBe('こんにちは{name}さようなら'.length);
    expect(provider.estimate(requestOf(two))).toEqual(outcome.usage);
  });

  it.each<[string, string, Reply]>([
    ['too few texts', 'answer_malformed', (_, response) => sendJson(response, { translatedText: [] })],
    ['a text for a list', 'answer_malformed', (_, response) => sendJson(response, { translatedText: 'x' })],
    [
      'numbers',
      'answer_malformed',
      ({ body }, response) => sendJson(response, { translatedText: body.q.map(() => 1) }),
    ],
    ['413', 'request_too_large', (_, response) => sendJson(response, {}, 413)],
    [
      '400',
      'provider_rejected',
      (_, response) => sendJson(response, { error: 'zh-Hans is not supported' }, 400),
    ],
    ['403', 'provider_rejected', (_, response) => sendJson(response, { error: 'Invalid API key' }, 403)],
    ['429', 'provider_throttled', (_, response) => sendJson(response, { error: 'Slowdown' }, 429)],
    ['500', 'provider_error', (_, response) => sendJson(response, { error: 'x' }, 500)],
  ])('fails the units for %s', async (_, code, reply) => {
    const { provider } = await against(reply);
    expect((await translate(provider, requestOf(two))).codes).toEqual({ a: code, b: code });
  });
});

describe('the fixture', () => {
  async function fixture(content: string, settings: object = {}) {
    const path = join(await temporaryDirectory(), 'fixture');
    await writeFile(path, content);
    return await openProvider({ kind: 'fixture', ...settings }, path);
  }

  const lines = (...items: object[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('');

  it('takes a translation by unit, then by source, never of another source', async () => {
    const content = lines(
      { unit_id: 'a', source_text: 'いち', translated_text: 'one' },
      { source_text: 'に', translated_text: 'two' },
      { unit_id: 'c', source_text: 'old', translated_text: 'stale' },
    );
    const units = [unit('a', 'いち'), unit('b', 'に'), unit('c', 'さん'), unit('d', 'いち')];
    for (const text of [
      content,
      JSON.stringify(
        content
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ),
    ]) {
      const { provider } = await fixture(text);
      const { texts, codes, outcome } = await translate(provider, requestOf(units));
      expect([texts, codes]).toEqual([{ a: 'one', b: 'two', d: 'one' }, { c: 'not_in_fixture' }]);
      expect(outcome.results[0]?.providerRunId).toBe(`fixture:${blake3Hex(Buffer.from(text))}`);
    }
  });

  it('plays failures as often as it says', async () => {
    const { provider } = await fixture(
      lines(
        { source_text: 'いち', translated_text: 'one' },
        { source_text: 'いち', fail: '429', times: 2 },
        { unit_id: 'm', fail: 'malformed', times: 9 },
        { unit_id: 'm', source_text: 'x', translated_text: 'y' },
      ),
    );
    const request = requestOf([unit('a', 'いち')]);
    const codes = [];
    for (let run = 0; run < 3; run += 1) codes.push((await translate(provider, request)).codes['a']);
    expect(codes).toEqual(['provider_throttled', 'provider_throttled', undefined]);
    const mixed = await translate(provider, requestOf([unit('a', 'いち'), unit('m', 'x')]));
    expect([mixed.texts, mixed.codes]).toEqual([{ a: 'one' }, { m: 'answer_malformed' }]);
  });

  it.each([
    ['{"unit_id":"a","translated_text":"b"}\n{"unit_id":', 'line 2'],
    ['{"unit_id":"a"}', 'line 1: needs either translated_text or findings, or fail'],
    [
      '[{"unit_id":"a","translated_text":"x"},{"translated_text":"b"}]',
      'item 1: needs unit_id or source_text',
    ],
    ['{"unit_id":"a","fail":"sometimes"}', 'line 1: fail'],
    [`[${' '.repeat(8 * 1024 ** 2)}]`, 'write one item on each line'],
  ])('refuses %#, and says where', async (content, message) => {
    await expect(fixture(content)).rejects.toThrow(message);
  });

  it('refuses bytes that are not UTF-8, and a missing file', async () => {
    const path = join(await temporaryDirectory(), 'fixture');
    await expect(openProvider({ kind: 'fixture' }, path)).rejects.toThrow('ENOENT');
    await writeFile(path, createHash('sha512').update('x').digest());
    await expect(openProvider({ kind: 'fixture' }, path)).rejects.toThrow('cannot be read');
  });
});

describe('the set of providers', () => {
  it('has fixture and memory-only without configuration, and knows no other name', async () => {
    const { set, provider } = await openProvider({ kind: 'memory-only' });
    const { signal } = new AbortController();
    expect(await set.open({ name: 'other', fixturePath: null, signal })).toBeNull();
    expect(await set.open({ name: 'constructor', fixturePath: null, signal })).toBeNull();
    expect(await set.open({ name: 'fixture', fixturePath: null, signal })).toBeNull();
    expect((await set.open({ name: 'memory-only', fixturePath: null, signal }))?.kind).toBe('memory-only');
    expect(await set.open({ name: 'mine', fixturePath: null, signal })).toBe(provider);
    expect((await translate(provider, requestOf(two))).codes).toEqual({ a: 'memory_only', b: 'memory_only' });
  });
});
