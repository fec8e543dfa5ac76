import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deeplPair } from '../../../../src/domain/translation/provider-languages.ts';
import { maskPlaceholders } from '../../../../src/domain/translation/placeholder-mask.ts';
import { readXmlText, writeXmlText } from '../../../../src/domain/translation/xml-text.ts';
import type { TermWording } from '../../../../src/domain/glossary/term.ts';
import type { GlossaryTerms } from '../../../../src/localization/translation/providers/provider.ts';
import { startDeeplServer } from '../../../support/deepl-server.ts';
import { openProvider, requestOf, sendJson, translate, unit } from '../../../support/provider-harness.ts';

const two = [unit('a', 'こんにちは{name}'), unit('b', 'HP < 10 & <b>強い</b>')];
const TRANSLATED = { a: 'こんにちは{name}*', b: 'HP < 10 & <b>強い</b>*' };

function termsOf(
  terms: readonly TermWording[],
  path: string | null = null,
): GlossaryTerms & { list: readonly TermWording[] } {
  const state = { list: terms, path, read: () => Promise.resolve(state.list) };
  return state;
}

const SENSEI: TermWording = { source: '先生', target: '老师' };

describe('DeepL', () => {
  it('gets placeholders as tags, and the rest of a text as it is', async () => {
    const { provider, asked } = await startDeeplServer({
      extraBody: { formality: 'prefer_less' },
      prices: { charactersPerMillion: 1_000_000 },
    });
    const { texts, outcome } = await translate(provider, requestOf(two));
    expect(texts).toEqual(TRANSLATED);
    expect(outcome.results[0]?.providerRunId).toBe('trace-1');
    expect(asked()).toHaveLength(1);
    expect(asked()[0]?.body).toEqual({
      text: ['こんにちは<x id="1"/>', 'HP &lt; 10 &amp; <x id="1"/>強い<x id="2"/>'],
      source_lang: 'JA',
      target_lang: 'ZH-HANS',
      tag_handling: 'xml',
      tag_handling_version: 'v2',
      preserve_formatting: true,
      show_billed_characters: true,
      formality: 'prefer_less',
    });
  });

  it('bills what DeepL says, never more than the estimate, and the estimate without it', async () => {
    const prices = { charactersPerMillion: 1_000_000 };
    const server = await startDeeplServer({ prices });
    const { provider } = server;
    const { outcome } = await translate(provider, requestOf(two));
    // Without the tags, and with escapes as they are sent.
    const billed = 'こんにちは'.length + 'HP &lt; 10 &amp; 強い'.length;
    expect(outcome.usage).toMatchObject({ requests: 1, characters: billed, cost: billed });
    const estimate = provider.estimate(requestOf(two));
    expect(estimate).toMatchObject({
      requests: 1,
      characters: 'こんにちは{name}HP < 10 & <b>強い</b>'.length,
    });
    server.behave = (call, response) => {
      sendJson(response, { translations: call.body.text.map((text) => ({ text })) });
      return true;
    };
    expect((await translate(provider, requestOf(two))).outcome.usage).toEqual(estimate);
  });

  it('gets the texts around as context, in their order, each once and as plain text', async () => {
    const { provider, asked } = await startDeeplServer();
    const [before, after] = [
      { place: 1, speaker: null, text: '<b>前</b> & {name}', target: null },
      { place: 4, speaker: null, text: '後', target: null },
    ];
    const lines = [
      unit('b', '二', { place: 3, around: [after, before] }),
      unit('a', '一', { place: 2, around: [before, after] }),
    ];
    await translate(provider, requestOf(lines));
    expect(asked()[0]?.body).toMatchObject({ text: ['二', '一'], context: '前\n後' });
  });

  it('is asked for 50 texts at most, and for no more bytes than it takes', async () => {
    const { provider, asked } = await startDeeplServer({
      limits: { batchUnits: 100, batchCharacters: 100_000 },
    });
    const units = Array.from({ length: 60 }, (_, at) => unit(`k${at}`, '漢'.repeat(1000)));
    expect(Object.keys((await translate(provider, requestOf(units))).texts)).toHaveLength(60);
    expect(asked().map(({ body }) => body.text.length)).toEqual([24, 24, 12]);
    const long = unit('long', '漢'.repeat(50_000));
    expect((await translate(provider, requestOf([long]))).codes).toEqual({ long: 'request_too_large' });
    expect(asked()).toHaveLength(3);
  });

  it('is not sent a text that XML cannot have, and gets the others', async () => {
    const { provider, asked } = await startDeeplServer();
    const { texts, codes, outcome } = await translate(provider, requestOf([two[0]!, unit('b', 'x\u{1}')]));
    expect([Object.keys(texts), codes]).toEqual([['a'], { b: 'request_refused' }]);
    expect(outcome.failures[0]?.message).toContain('control character');
    expect(asked()).toHaveLength(1);
  });

  it.each<[string, (text: string) => string]>([
    ['a tag that is opened and closed', (text) => text.replace('<x id="1"/>', '<x id="1"></x>')],
    ['spaces in a tag', (text) => text.replace('<x id="1"/>', '<x id="1" />')],
    ['other entities', (text) => text.replace('&lt;', '&#60;').replace('&amp;', '&#x26;')],
  ])('may write its answer with %s', async (_what, rewrite) => {
    const server = await startDeeplServer();
    server.behave = (call, response) => {
      sendJson(response, { translations: call.body.text.map((text) => ({ text: `${rewrite(text)}*` })) });
      return true;
    };
    expect((await translate(server.provider, requestOf(two))).texts).toEqual(TRANSLATED);
  });

  it('must not lose or double a tag', async () => {
    const server = await startDeeplServer();
    server.behave = (call, response) => {
      const [first = '', second = ''] = call.body.text;
      const texts = [first.replace('<x id="1"/>', ''), `${second}<x id="2"/>`].slice(
        0,
        call.body.text.length,
      );
      sendJson(response, { translations: texts.map((text) => ({ text })) });
      return true;
    };
    const { codes } = await translate(server.provider, requestOf([two[0]!, two[1]!]));
    expect(codes).toEqual({ a: 'placeholders_changed', b: 'placeholders_changed' });
  });

  it.each<[string, number, object, string, string]>([
    [
      'a quota that is used up',
      456,
      { message: 'Quota for this billing period has been exceeded' },
      'provider_account',
      'raise the limit of characters',
    ],
    ['a wrong key', 403, { message: 'Wrong endpoint or key' }, 'provider_credentials', 'check tokenFile'],
    ['too many requests', 429, { message: 'Too many requests' }, 'provider_throttled', 'Too many requests'],
    ['high load', 529, { message: 'Too many requests' }, 'provider_throttled', 'Too many requests'],
    ['a service that is away', 503, {}, 'provider_error', 'status 503'],
    [
      'a language it does not have',
      400,
      { message: "Value for 'target_lang' not supported." },
      'provider_rejected',
      'check url',
    ],
    ['a request that is too large', 413, { message: 'Payload Too Large' }, 'request_too_large', 'status 413'],
  ])('fails for %s, with its words and its trace id', async (_what, status, body, code, says) => {
    const server = await startDeeplServer();
    server.behave = (_call, response) => {
      sendJson(response, body, status, { 'x-trace-id': 'trace-7' });
      return true;
    };
    const { codes, outcome } = await translate(server.provider, requestOf([two[0]!]));
    expect(codes).toEqual({ a: code });
    expect(outcome.failures[0]?.message).toContain(says);
    expect(outcome.failures[0]?.message).toContain('(trace id trace-7)');
  });

  it('fails a text alone whose tags it cannot read', async () => {
    const server = await startDeeplServer();
    await translate(server.provider, requestOf(two));
    server.behave = (call, response) => {
      if (!call.body.text.some((text) => text.includes('強'))) return undefined;
      sendJson(response, { message: 'Tag handling parsing failed, please check input.' }, 400);
      return true;
    };
    const { texts, codes } = await translate(server.provider, requestOf(two));
    expect([Object.keys(texts), codes]).toEqual([['a'], { b: 'request_refused' }]);
  });

  it.each([
    ['abc:fx', 'https://api.deepl.com', 'a free account; set url to https://api-free.deepl.com'],
    ['abc', 'https://api-free.deepl.com', 'a paid account; set url to https://api.deepl.com'],
  ])('is not asked with the key %s at %s, the host of the other plan', async (key, url, says) => {
    const { provider, calls } = await startDeeplServer({ url, allowHosts: [new URL(url).hostname] }, key);
    const { codes, outcome } = await translate(provider, requestOf(two));
    expect(codes).toEqual({ a: 'provider_credentials', b: 'provider_credentials' });
    expect(outcome.failures[0]?.message).toContain(says);
    expect([calls.length, outcome.usage.requests]).toEqual([0, 0]);
  });

  it('needs a key', async () => {
    await expect(
      openProvider({ kind: 'deepl', url: 'http://127.0.0.1:9', allowHosts: ['127.0.0.1'] }),
    ).rejects.toThrow('tokenFile');
  });
});

describe('the glossary at DeepL', () => {
  it('is made from the terms, used, and found again by another daemon', async () => {
    const server = await startDeeplServer();
    const terms = termsOf([
      SENSEI,
      { source: '先生', target: 'again' },
      { source: 'a\tb', target: 'x' },
      { source: ' ', target: 'x' },
      { source: '長'.repeat(400), target: 'x' },
      { source: 'アロナ', target: '阿罗娜' },
    ]);
    const { texts, outcome } = await translate(server.provider, requestOf(two, { terms }));
    expect(texts).toEqual(TRANSLATED);
    const [glossary] = server.glossaries.values();
    expect(glossary).toMatchObject({
      name: expect.stringMatching(/^slipway JA ZH-HANS [0-9a-f]{16}$/) as unknown,
      dictionaries: [
        {
          source_lang: 'ja',
          target_lang: 'zh',
          entries: '先生\t老师\nアロナ\t阿罗娜',
          entries_format: 'tsv',
        },
      ],
    });
    expect(server.asked()[0]?.body).toMatchObject({ glossary_id: 'g1' });
    expect(outcome.usage.requests).toBe(server.calls.length);
    await translate(server.provider, requestOf(two, { terms }));
    expect(server.calls).toHaveLength(4);
    // The next run reads a list of its own.
    await translate(server.provider, requestOf(two, { terms: termsOf([...terms.list]) }));
    expect(server.calls).toHaveLength(5);
    // A daemon with the same configuration that knows nothing of the first.
    const other = await startDeeplServer({ url: server.url });
    await translate(other.provider, requestOf(two, { terms }));
    expect([...server.glossaries.keys()]).toEqual(['g1']);
    expect(server.asked().at(-1)?.body).toMatchObject({ glossary_id: 'g1' });
  });

  it('is made anew when terms change, and those that it supersedes are deleted, no others', async () => {
    const server = await startDeeplServer();
    const terms = termsOf([SENSEI]);
    const foreign = { glossary_id: 'own', name: 'slipway of a person', dictionaries: [] };
    server.glossaries.set('own', foreign);
    await translate(server.provider, requestOf(two, { terms }));
    const beside = requestOf(two, { terms, targetLanguage: 'zh-Hant' });
    await translate(server.provider, beside);
    await translate(server.provider, requestOf(two, { terms: termsOf([SENSEI], 'other.db') }));
    terms.list = [SENSEI, { source: '猫', target: '貓' }];
    await translate(server.provider, requestOf(two, { terms }));
    expect([...server.glossaries].map(([id, { name }]) => [id, name.replace(/ \w{16}$/, '')])).toEqual([
      ['own', 'slipway of a person'],
      ['g2', 'slipway JA ZH-HANT'],
      ['g3', 'slipway JA ZH-HANS (other.db)'],
      ['g4', 'slipway JA ZH-HANS'],
    ]);
    terms.list = [];
    await translate(server.provider, requestOf(two, { terms }));
    expect(server.glossaries.has('g4')).toBe(false);
    expect(server.asked().at(-1)?.body).not.toHaveProperty('glossary_id');
  });

  it('replaces the old one first where an account has room for one', async () => {
    const server = await startDeeplServer();
    server.room = 1;
    const terms = termsOf([SENSEI]);
    await translate(server.provider, requestOf(two, { terms }));
    terms.list = [{ source: '猫', target: '貓' }];
    expect((await translate(server.provider, requestOf(two, { terms }))).texts).toEqual(TRANSLATED);
    expect([...server.glossaries.keys()]).toEqual(['g2']);
  });

  it.each<[string, number, string]>([
    ['a wrong key', 403, 'Forbidden'],
    ['too many requests', 429, 'Too many requests'],
    ['used up characters', 456, 'Quota for this billing period has been exceeded'],
    ['a service that is away', 503, 'Service unavailable'],
    ['entries that it does not take', 400, 'Invalid glossary entries provided'],
  ])('is not deleted for %s when another is to be made', async (_what, status, message) => {
    const server = await startDeeplServer();
    const terms = termsOf([SENSEI]);
    await translate(server.provider, requestOf(two, { terms }));
    server.refusal = { status, body: { message } };
    terms.list = [{ source: '猫', target: '貓' }];
    expect((await translate(server.provider, requestOf(two, { terms }))).texts).toEqual({});
    expect([...server.glossaries.keys()]).toEqual(['g1']);
  });

  it('that is known is used while another is made, and a cancelled run waits for none', async () => {
    const server = await startDeeplServer();
    const terms = termsOf([SENSEI]);
    await translate(server.provider, requestOf(two, { terms }));
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    server.hold = async () => {
      reached.resolve();
      await gate.promise;
    };
    const slow = translate(server.provider, requestOf(two, { terms, targetLanguage: 'zh-Hant' }));
    await reached.promise;
    expect((await translate(server.provider, requestOf(two, { terms }))).texts).toEqual(TRANSLATED);
    const abort = new AbortController();
    const read = async (): Promise<readonly TermWording[]> => {
      setImmediate(() => {
        abort.abort(new Error('cancelled'));
      });
      return await terms.read();
    };
    const cancelled = requestOf(two, {
      terms: { path: null, read },
      targetLanguage: 'ko',
      signal: abort.signal,
    });
    await expect(translate(server.provider, cancelled)).rejects.toThrow('cancelled');
    gate.resolve();
    expect((await slow).texts).toEqual(TRANSLATED);
    expect([...server.glossaries.keys()]).toEqual(['g1', 'g2']);
  });

  it('needs each list of terms to be read once, whichever run asks', async () => {
    const server = await startDeeplServer();
    let reads = 0;
    const lists = [1, 2].map(() => {
      const list = [SENSEI];
      const entries = list[Symbol.iterator].bind(list);
      return Object.assign(list, {
        [Symbol.iterator]: () => {
          reads += 1;
          return entries();
        },
      });
    });
    const both = lists.map((list) => termsOf(list));
    for (const terms of both) await translate(server.provider, requestOf(two, { terms }));
    const before = reads;
    expect(before).toBeGreaterThan(0);
    for (const terms of both) await translate(server.provider, requestOf(two, { terms }));
    expect(reads).toBe(before);
  });

  it('is made once by concurrent requests, and again when it was deleted', async () => {
    const server = await startDeeplServer();
    const terms = termsOf([SENSEI]);
    const request = requestOf(two, { terms });
    await Promise.all([1, 2, 3].map(async () => await translate(server.provider, request)));
    expect([...server.glossaries.keys()]).toEqual(['g1']);
    server.glossaries.clear();
    expect((await translate(server.provider, request)).texts).toEqual(TRANSLATED);
    expect([...server.glossaries.keys()]).toEqual(['g2']);
  });

  it('costs nothing, and waits for nothing, when its requests fail', async () => {
    const prices = { charactersPerMillion: 1_000_000 };
    const server = await startDeeplServer({ prices, limits: { attempts: 1, longestWaitSeconds: 0 } });
    server.trouble = 'GET';
    const { codes, outcome } = await translate(server.provider, requestOf(two, { terms: termsOf([SENSEI]) }));
    expect(codes).toEqual({ a: 'provider_unusable', b: 'provider_unusable' });
    expect(outcome.usage).toMatchObject({ characters: 0, cost: 0 });
    // What cannot be deleted waits for the next change.
    const other = await startDeeplServer();
    const terms = termsOf([SENSEI]);
    await translate(other.provider, requestOf(two, { terms }));
    terms.list = [{ source: '猫', target: '貓' }];
    other.trouble = 'DELETE';
    expect((await translate(other.provider, requestOf(two, { terms }))).texts).toEqual(TRANSLATED);
    expect([...other.glossaries.keys()]).toEqual(['g1', 'g2']);
  });

  it('stops the run when DeepL does not take it, unless it is switched off', async () => {
    const server = await startDeeplServer();
    server.room = 0;
    const terms = termsOf([SENSEI]);
    const { codes, outcome } = await translate(server.provider, requestOf(two, { terms }));
    expect(codes).toEqual({ a: 'provider_account', b: 'provider_account' });
    expect(outcome.failures[0]?.message).toMatch(
      /^DeepL does not accept the Glossary: .*Too many glossaries.*; "glossary: false" of the provider/,
    );
    expect(server.asked()).toEqual([]);
    const without = await startDeeplServer({ glossary: false });
    expect((await translate(without.provider, requestOf(two, { terms }))).texts).toEqual(TRANSLATED);
    expect(without.calls).toHaveLength(1);
  });
});

describe('a text as XML', () => {
  it('is itself again, whatever is in it', () => {
    const parts = fc.constantFrom(
      '&',
      '<',
      '>',
      '&amp;',
      '\r\n',
      '<x id="1"/>',
      '<b>',
      '{name}',
      '"',
      "'",
      '😀',
      '\u{1}',
      '\ud800',
      '語',
    );
    const texts = fc.oneof(
      fc.array(parts).map((all) => all.join('')),
      fc.string(),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const masked = maskPlaceholders(text, 'xml')!.text;
        const xml = writeXmlText(masked);
        if (xml !== null) expect(readXmlText(xml)).toBe(masked);
      }),
    );
  });
});

describe('the languages of DeepL', () => {
  it.each([
    ['en', 'EN-US'],
    ['en-AU', 'EN-GB'],
    ['pt', 'PT-BR'],
    ['pt-AO', 'PT-PT'],
    ['es', 'ES'],
    ['es-MX', 'ES-419'],
    ['zh', 'ZH-HANS'],
    ['zh-TW', 'ZH-HANT'],
    ['no', 'NB'],
    ['de-CH', 'DE'],
    ['id', 'ID'],
  ])('has %s as %s', (targetLanguage, target) => {
    expect(deeplPair({ sourceLanguage: 'ja-JP', targetLanguage })).toMatchObject({ source: 'JA', target });
  });
});
