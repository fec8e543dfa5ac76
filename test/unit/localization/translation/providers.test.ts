import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { providersSchema } from '../../../../src/localization/translation/providers/provider-config.ts';
import {
  PROVIDER_FAILURES,
  ProviderError,
} from '../../../../src/localization/translation/providers/provider-failure.ts';
import { createRateLimit } from '../../../../src/localization/translation/providers/rate-limit.ts';
import {
  charactersOf,
  createSpending,
  priced,
} from '../../../../src/localization/translation/providers/spending.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { openProvider, quickClock, requestOf, translate, unit } from '../../../support/provider-harness.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const two = [unit('a', 'こんにちは{name}'), unit('b', 'さようなら')];

describe('other providers', () => {
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
      expect((await translate(provider, requestOf(two))).codes).toEqual({
        a: 'memory_only',
        b: 'memory_only',
      });
    });
  });
});

function problemsOf(settings: object): string[] {
  const checked = providersSchema.safeParse({ mine: settings });
  return checked.success
    ? []
    : checked.error.issues.map(({ path, message }) => `${path.slice(1).join('.')} ${message}`);
}

const openai = {
  kind: 'openai',
  url: 'https://api.example.com/v1',
  model: 'm',
  allowHosts: ['api.example.com'],
};

const deepl = {
  kind: 'deepl',
  url: 'https://api.deepl.com',
  allowHosts: ['api.deepl.com'],
  tokenFile: 'k',
};

describe('the configuration of providers', () => {
  it('takes a provider of each kind', () => {
    expect(problemsOf(openai)).toEqual([]);
    expect(problemsOf({ kind: 'libretranslate', url: 'http://[::1]:5000', allowHosts: ['[::1]'] })).toEqual(
      [],
    );
    for (const glossary of [undefined, false, 'game-2'])
      expect(problemsOf({ ...deepl, glossary, extraBody: { formality: 'less' } })).toEqual([]);
    expect(problemsOf({ ...deepl, glossary: 'a b' })).toHaveLength(1);
    expect(problemsOf({ ...openai, glossary: false })).toEqual(['glossary is not used by the kind "openai"']);
    expect(problemsOf({ kind: 'fixture', extraBody: { x: 1 } })).toEqual([
      'extraBody is not used by the kind "fixture"',
    ]);
    expect(problemsOf({ kind: 'fixture' })).toEqual([]);
    expect(problemsOf({ kind: 'memory-only' })).toEqual([]);
  });

  it('names every problem', () => {
    expect(problemsOf({ kind: 'openai' })).toEqual([
      'url is missing; the kind "openai" needs it',
      'model is missing; the kind "openai" needs it',
    ]);
    expect(problemsOf({ ...openai, allowHosts: ['example.com'] })).toEqual([
      'allowHosts does not have "api.example.com", the host of url; add it to allow that texts are sent there',
    ]);
    expect(
      problemsOf({ kind: 'fixture', url: openai.url, allowHosts: openai.allowHosts, temperature: 1 }),
    ).toEqual(['url is not used by the kind "fixture"', 'temperature is not used by the kind "fixture"']);
    for (const url of [
      'ftp://a',
      'https://u:p@api.example.com',
      'https://api.example.com?x=1',
      'api.example.com',
    ]) {
      expect(problemsOf({ ...openai, url }).join(), url).toContain('url must be an absolute');
    }
    expect(problemsOf({ ...openai, kind: 'gpt' })).toHaveLength(1);
    expect(problemsOf({ ...openai, limits: { timeoutSeconds: 0 }, mask: 'html', more: 1 })).toHaveLength(3);
  });

  it('has the place of a preset, whose host must be allowed, too', () => {
    const { url: _, ...rest } = openai;
    const hosts = { openai: 'api.openai.com', ollama: '127.0.0.1', anthropic: 'api.anthropic.com' };
    for (const [preset, host] of Object.entries(hosts))
      expect(problemsOf({ ...rest, preset, allowHosts: [host] })).toEqual([]);
    expect(problemsOf({ ...rest, preset: 'gemini' })).toEqual([
      'allowHosts does not have "generativelanguage.googleapis.com", the host of url; add it to allow that texts are sent there',
    ]);
    expect(problemsOf({ ...rest, preset: 'azure' })).toEqual(['url is missing; the kind "openai" needs it']);
    expect(problemsOf({ kind: 'fixture', preset: 'openai' })).toContain(
      'preset is not used by the kind "fixture"',
    );
  });

  it('takes no header, member or fallback that would change the question', () => {
    expect(problemsOf({ ...openai, headers: { 'x-title': 'a' }, query: { 'api-version': 'v' } })).toEqual([]);
    expect(problemsOf({ ...openai, headers: { 'content-length': '1' } })).toHaveLength(1);
    for (const member of ['messages', 'max_tokens', 'max_completion_tokens', 'temperature']) {
      expect(problemsOf({ ...openai, extraBody: { [member]: 1 } }).join()).toContain('none of messages');
      expect(problemsOf({ ...deepl, extraBody: { [member]: 1 } })).toEqual([]);
    }
    for (const member of ['text', 'context', 'target_lang', 'glossary_id']) {
      expect(problemsOf({ ...deepl, extraBody: { [member]: 1 } }).join()).toContain('none of text');
      expect(problemsOf({ ...openai, extraBody: { [member]: 1 } })).toEqual([]);
    }
    for (const fallback of ['mine', 'fixture', 'constructor'])
      expect(problemsOf({ ...openai, fallback }).join()).toContain('fallback must name another provider');
    const both = providersSchema.safeParse({ mine: { ...openai, fallback: 'other' }, other: openai });
    expect(both.success).toBe(true);
  });

  it.each([
    ['Not good', 'memory-only', 'the name must be lower case letters, digits, "_" and "-", at most 64'],
    ['file', 'memory-only', 'marks the work of people in histories; choose another name'],
    ['undo', 'memory-only', 'marks the work of people in histories; choose another name'],
    ['replace', 'memory-only', 'marks the work of people in histories; choose another name'],
    ['fixture', 'memory-only', 'give it the kind "fixture", or choose another name'],
    ['memory-only', 'fixture', 'give it the kind "memory-only", or choose another name'],
    ['fixture', 'fixture', null],
    ['files', 'fixture', null],
  ])('with the name "%s" and the kind %s: %s', (name, kind, problem) => {
    const checked = providersSchema.safeParse({ [name]: { kind } });
    const messages = checked.success
      ? []
      : checked.error.issues.map(({ path, message }) => ({ path, message }));
    const expected = { path: [name], message: expect.stringContaining(problem ?? '') as unknown };
    expect(messages).toEqual(problem === null ? [] : [expected]);
  });

  it('documents every failure', () => {
    const page = readFileSync(new URL('../../../../docs/reference/providers.md', import.meta.url), 'utf8');
    const missing = Object.entries(PROVIDER_FAILURES).filter(
      ([code, does]) => !new RegExp(`\\| \`${code}\` +\\| ${does} `).test(page),
    );
    expect(missing).toEqual([]);
  });
});

const { signal } = new AbortController();
const none = { requestsPerMinute: null, charactersPerMinute: null };

describe('the limits of providers', () => {
  describe('the rate limit', () => {
    it('lets one minute through immediately, then the rate', async () => {
      const clock = quickClock();
      const limit = createRateLimit({ requestsPerMinute: 3, charactersPerMinute: null }, clock);
      for (let request = 0; request < 5; request += 1) await limit.take(1, signal);
      expect(clock.slept).toEqual([20_000, 20_000]);
    });

    it('counts characters, and lets a request through that is larger than a minute', async () => {
      const clock = quickClock();
      const limit = createRateLimit({ requestsPerMinute: null, charactersPerMinute: 100 }, clock);
      await limit.take(250, signal);
      expect(clock.slept).toEqual([]);
      await limit.take(100, signal);
      expect(clock.slept).toEqual([150_000]);
    });

    it('is shared by concurrent requests', async () => {
      const clock = new FakeClock();
      const limit = createRateLimit({ requestsPerMinute: 2, charactersPerMinute: null }, clock);
      let through = 0;
      const all = Array.from({ length: 6 }, async () => {
        await limit.take(1, signal);
        through += 1;
      });
      const counts = [];
      for (let step = 0; step < 5; step += 1) {
        await clock.advance(step === 0 ? 0 : 30_000);
        counts.push(through);
      }
      expect(counts).toEqual([2, 3, 4, 5, 6]);
      await Promise.all(all);
    });

    it('halves its rate when throttled, waits for everyone, and recovers', async () => {
      const clock = quickClock();
      const limit = createRateLimit({ requestsPerMinute: 1, charactersPerMinute: null }, clock);
      await limit.take(1, signal);
      limit.throttled(5_000);
      await limit.take(1, signal);
      expect(clock.slept).toEqual([120_000]);
      for (let success = 0; success < 25; success += 1) limit.succeeded();
      await limit.take(1, signal);
      expect(clock.slept).toEqual([120_000, 60_000]);
      const free = createRateLimit(none, clock);
      free.throttled(5_000);
      await free.take(1, signal);
      expect(clock.slept.at(-1)).toBe(5_000);
    });

    it('stops waiting when it is cancelled', async () => {
      const abort = new AbortController();
      const limit = createRateLimit({ requestsPerMinute: 1, charactersPerMinute: null }, new FakeClock());
      await limit.take(1, signal);
      const waiting = limit.take(1, abort.signal);
      abort.abort(new Error('cancelled'));
      await expect(waiting).rejects.toThrow('cancelled');
    });
  });

  describe('the account of a run', () => {
    it('never goes over its caps, with any number of concurrent requests', () => {
      const estimates = fc.record({
        promptTokens: fc.integer({ min: 0, max: 50 }),
        answerTokens: fc.integer({ min: 0, max: 50 }),
        characters: fc.integer({ min: 0, max: 50 }),
        longestAnswer: fc.integer({ min: 50, max: 100 }),
      });
      const prices = { promptTokensPerMillion: 3e6, answerTokensPerMillion: 5e6, charactersPerMillion: 1e6 };
      const caps = fc.record({
        maxTokens: fc.option(fc.integer({ min: 0, max: 500 })),
        maxCost: fc.option(fc.integer({ min: 0, max: 2000 })),
      });
      fc.assert(
        fc.property(fc.array(estimates, { maxLength: 20 }), caps, (requests, { maxTokens, maxCost }) => {
          const spending = createSpending({ maxTokens, maxCost });
          const open = requests.flatMap((estimate) => {
            try {
              return [{ estimate, reservation: spending.reserve(estimate, prices) }];
            } catch (error) {
              expect(error).toBeInstanceOf(ProviderError);
              return [];
            }
          });
          for (const { estimate, reservation } of open) {
            expect(reservation.longestAnswer).toBeGreaterThanOrEqual(estimate.answerTokens);
            const used = priced({ ...estimate, answerTokens: reservation.longestAnswer }, prices);
            reservation.settle(used);
            reservation.settle(used);
          }
          const { promptTokens, answerTokens, cost, requests: count } = spending.used();
          expect(count).toBe(open.length);
          expect(promptTokens + answerTokens).toBeLessThanOrEqual(maxTokens ?? Infinity);
          expect(cost).toBeLessThanOrEqual((maxCost ?? Infinity) + 1e-6);
        }),
      );
    });

    it('leaves room for the excess that an answer had', () => {
      const prices = { promptTokensPerMillion: 0, answerTokensPerMillion: 1e6, charactersPerMillion: 0 };
      const estimate = { promptTokens: 0, answerTokens: 10, characters: 0, longestAnswer: 20 };
      for (const caps of [
        { maxTokens: 200, maxCost: null },
        { maxTokens: null, maxCost: 200 },
      ]) {
        const spending = createSpending(caps);
        spending.reserve(estimate, prices).settle(priced({ ...estimate, answerTokens: 70 }, prices));
        // Of 130, 50 are for the excess.
        const second = spending.reserve({ ...estimate, longestAnswer: 500 }, prices);
        expect(second.longestAnswer).toBe(80);
        expect(() => spending.reserve(estimate, prices)).toThrow('does not fit');
        second.settle(priced({ ...estimate, answerTokens: 130 }, prices));
        expect(spending.used().answerTokens).toBe(200);
      }
    });

    it('leaves no room for the excess where answers have no bound in tokens', () => {
      const prices = { promptTokensPerMillion: 0, answerTokensPerMillion: 1e6, charactersPerMillion: 1e6 };
      const estimate = { promptTokens: 0, answerTokens: 10, characters: 0, longestAnswer: 20 };
      const spending = createSpending({ maxTokens: 100, maxCost: 100 });
      spending.reserve(estimate, prices).settle(priced({ ...estimate, answerTokens: 70 }, prices));
      // Of 30 that are left, less than the excess of 50.
      const texts = charactersOf([{ sourceText: 'x'.repeat(15) }]);
      spending.reserve(texts, prices);
      spending.reserve(texts, prices);
      expect(() => spending.reserve(texts, prices)).toThrow('does not fit');
    });
  });
});
