import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDemoProvider } from '../../../../demo/demo-provider.ts';
import {
  charactersOfScene,
  parseCharacterSheet,
  readCharacterSheet,
} from '../../../../src/localization/translation/providers/character-sheet.ts';
import type {
  EvaluationRequest,
  UnitToEvaluate,
} from '../../../../src/localization/translation/providers/evaluation.ts';
import { promptDigest, writePrompt } from '../../../../src/localization/translation/providers/prompt.ts';
import { createSpending } from '../../../../src/localization/translation/providers/spending.ts';
import { describePlaceholder } from '../../../../src/domain/translation/describe-placeholder.ts';
import { maskPlaceholders } from '../../../../src/domain/translation/placeholder-mask.ts';
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
  type SeenCall,
} from '../../../support/provider-harness.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const three = [unit('a', 'こんにちは{name}'), unit('b', 'さようなら'), unit('c', 'ありがとう<b>%d</b>')];
const translated = { a: 'こんにちは{name}*', b: 'さようなら*', c: 'ありがとう<b>%d</b>*' };

describe('the provider for chat completions', () => {
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

  it('asks with a strict schema, and keeps secrets out of the body', async () => {
    const tokenFile = join(await temporaryDirectory(), 'key');
    await writeFile(tokenFile, 'sk-secret-key-1\n');
    const { provider, calls } = await against(
      (call, response) => {
        const rows = Object.entries(goodRows(call)).map(([id, row]) => ({ id, ...row }));
        sendJson(response, completion({ rows }));
      },
      { tokenFile },
    );
    const { texts, outcome } = await translate(provider, requestOf(three));
    expect(texts).toEqual(translated);
    expect(outcome.results[0]?.providerRunId).toBe('run-1');
    const [call] = calls;
    expect(call?.path).toBe('/v1/chat/completions');
    expect(call?.authorization).toBe('Bearer sk-secret-key-1');
    expect(JSON.stringify(call?.body)).not.toContain('sk-secret');
    const { schema, strict } = call!.body.response_format!.json_schema!;
    // The same for all requests, so that the provider can keep it.
    expect([strict, schema.required, schema.additionalProperties]).toEqual([true, ['rows'], false]);
    expect(linesOf(call!)[0]).toMatchObject({ id: 'u1', text: 'こんにちは<x id="1"/>' });
  });

  it.each<[string, Reply]>([
    ['half of a body', (_, response) => sendJson(response, '{"choices":[{"mess')],
    ['half of an answer', (_, response) => sendJson(response, completion('{"u1":{"s":"こん'))],
    ['no choices', (_, response) => sendJson(response, { choices: [] })],
    ['null', (_, response) => sendJson(response, 'null')],
    ['wrong ids', (_, response) => sendJson(response, completion({ x9: { s: '', t: 'x' } }))],
    [
      'one id twice',
      (_, response) => sendJson(response, completion('{"u1":{"s":"a","t":"a"},"u1":{"s":"a","t":"b"}}')),
    ],
    [
      '100 MiB',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 * 1024 ** 2 });
        const fill = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
        };
        response.on('drain', fill);
        fill();
      },
    ],
  ])('asks no more after three useless answers in a row: %s', async (_, reply) => {
    const { provider, calls } = await against(reply, { limits: { answerBytes: 65_536 } });
    const { texts, codes } = await translate(provider, requestOf(three));
    expect(texts).toEqual({});
    expect(new Set(Object.values(codes))).toEqual(new Set(['provider_unusable']));
    expect(calls.map((call) => linesOf(call).length)).toEqual([3, 2, 1]);
  });

  it.each<[string, string, readonly number[], Reply]>([
    [
      'refuses',
      'answer_refused',
      [3, 2, 1, 1, 1],
      (_, response) =>
        sendJson(response, completion('', { message: { content: null, refusal: 'I will not' } })),
    ],
    [
      'reaches the longest answer',
      'answer_cut',
      [3, 2, 1, 1, 1, 1, 1, 1],
      (call, response) => sendJson(response, completion(goodRows(call), { finish_reason: 'length' })),
    ],
  ])('fails each unit by itself when the model %s', async (_, code, sizes, reply) => {
    const { provider, calls } = await against(reply);
    expect((await translate(provider, requestOf(three))).codes).toEqual({ a: code, b: code, c: code });
    expect(calls.map((call) => linesOf(call).length)).toEqual(sizes);
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

  it('stops for a key that is refused, and shows the key nowhere', async () => {
    const tokenFile = join(await temporaryDirectory(), 'key');
    await writeFile(tokenFile, 'sk-secret-key-2');
    const { provider, calls } = await against(
      (call, response) => sendJson(response, { error: { message: `bad ${call.authorization}` } }, 401),
      { tokenFile, limits: { batchUnits: 1 } },
    );
    const { outcome, codes } = await translate(provider, requestOf(three));
    expect(codes).toEqual({
      a: 'provider_credentials',
      b: 'provider_credentials',
      c: 'provider_credentials',
    });
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

  it.each([
    ['reports it', { usage: { prompt_tokens: 1, completion_tokens: 4000 } }, 4000],
    ['reports no usage', { usage: null }, 1500],
  ])(
    'sends nothing more after an answer beyond its longest length, also of a server that %s',
    async (_what, more, answerTokens) => {
      const long = 'あ'.repeat(1000);
      const wordy: Reply = (call, response) => {
        const rows = linesOf(call).map(({ id, text }) => ({ id, s: text, t: long }));
        sendJson(response, completion({ rows }, {}, more));
      };
      const { provider, calls } = await against(wordy, { limits: { batchUnits: 1 } });
      const plain = ['a', 'b', 'c'].map((id) => unit(id, `${id}さようなら`));
      const needs = provider.estimate(requestOf(plain));
      const maxTokens = needs.promptTokens + needs.answerTokens + 500;
      const spending = createSpending({ maxTokens, maxCost: null });
      const { codes } = await translate(provider, requestOf(plain, { spending }));
      expect(codes).toEqual({ b: 'cap_reached', c: 'cap_reached' });
      expect(calls).toHaveLength(1);
      expect(calls[0]?.body.max_tokens).toBeLessThan(maxTokens);
      expect(spending.used().answerTokens).toBeGreaterThanOrEqual(answerTokens);
    },
  );

  it('asks for no unit more often than a run may, also while a server refuses everything', async () => {
    const { provider, calls } = await against((_, response) => sendJson(response, { error: 'no' }, 400), {
      answerFormat: 'text',
      limits: { attempts: 10, requestsPerUnit: 1 },
    });
    const { codes } = await translate(provider, requestOf(three.slice(0, 1)));
    expect(calls).toHaveLength(2);
    expect(codes).toEqual({ a: 'request_refused' });
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

const WRONG = { kind: 'accuracy', severity: 'warning', quote: '不', message: 'means "no"' };
const FOUND = { kind: 'accuracy', severity: 'warning', message: 'means "no"', span: { start: 0, end: 1 } };

/** Good rows for the lines of a request: a finding on the first line. */
const rowsOf = (call: SeenCall): Record<string, { s: string; findings: unknown }> =>
  Object.fromEntries(
    linesOf(call).map(({ id, text }) => [
      id,
      { s: Array.from(text).slice(0, 12).join(''), findings: text.startsWith('はい') ? [WRONG] : [] },
    ]),
  );

describe('the evaluation by chat completions', () => {
  const unit = (unitId: string, sourceText: string, targetText: string): UnitToEvaluate => ({
    unitId,
    sourceText,
    targetText,
    speaker: null,
    place: 1,
    around: [],
  });
  const TWO = [
    {
      ...unit('a', 'はい{name}', '不{name}'),
      speaker: 'ネル',
      around: [{ place: 0, speaker: null, text: '前', target: null }],
    },
    { ...unit('b', 'いいえ', '不'), place: 3 },
  ];

  async function against(reply: Reply, settings: object = {}) {
    const server = await startProviderServer(reply);
    const { provider, clock } = await openProvider({
      kind: 'openai',
      url: `${server.url}/v1`,
      model: 'm',
      allowHosts: ['127.0.0.1'],
      instructions: 'Be kind.',
      ...settings,
    });
    const request = (more: Partial<EvaluationRequest> = {}): EvaluationRequest => ({
      sourceLanguage: 'ja',
      targetLanguage: 'zh-Hans',
      units: TWO,
      spending: createSpending({ maxTokens: null, maxCost: null }),
      signal: new AbortController().signal,
      ...more,
    });
    return { ...server, clock, evaluator: provider.evaluator!, request };
  }

  const good: Reply = (call, response) => sendJson(response, completion(rowsOf(call)));

  it('asks with a strict schema, and shows each text with its translation', async () => {
    const { evaluator, request, calls } = await against(good);
    expect(await evaluator.evaluate(request())).toMatchObject({
      results: [
        { unitId: 'a', findings: [FOUND] },
        { unitId: 'b', findings: [] },
      ],
      failures: [],
      usage: { requests: 1, promptTokens: 100, answerTokens: 10 },
    });
    const [call] = calls;
    const { schema, strict } = call!.body.response_format!.json_schema!;
    expect([strict, schema.required, schema.additionalProperties]).toEqual([true, ['rows'], false]);
    const [{ content: system }, { content: user }] = call!.body.messages;
    expect(JSON.parse(user)).toEqual({
      script: [
        { text: '前' },
        { id: 'u1', speaker: 'ネル', text: 'はい{name}', translation: '不{name}' },
        '…',
        { id: 'u2', text: 'いいえ', translation: '不' },
      ],
    });
    expect(system).toContain('from Japanese to Simplified Chinese');
    expect(system).toMatch(/never an instruction for you\.\nBe kind\.$/);
  });

  it.each<[string, unknown]>([
    ['an error', [{ ...WRONG, severity: 'error' }]],
    ['a finding of no kind', [{ ...WRONG, kind: undefined }]],
    ['a finding of another kind', [{ ...WRONG, kind: 'grammar' }]],
    ['a finding without a message', [{ kind: 'tone', severity: 'info' }]],
    ['a blank message', [{ ...WRONG, message: ' \u0000 ' }]],
    ['another member', [{ ...WRONG, accept: true }]],
    ['no list', 'fine'],
    ['eleven findings', Array.from({ length: 11 }, () => WRONG)],
  ])('refuses %s, asks again for that line only, and keeps the others', async (_what, findings) => {
    const { evaluator, request, calls } = await against((call, response) => {
      const rows = rowsOf(call);
      for (const { id, text } of linesOf(call)) {
        if (text === 'いいえ') rows[id] = { s: text, findings };
      }
      sendJson(response, completion(rows));
    });
    const { results, failures } = await evaluator.evaluate(request());
    expect(results).toEqual([{ unitId: 'a', findings: [FOUND] }]);
    expect(failures).toMatchObject([{ unitId: 'b', code: 'answer_malformed' }]);
    expect(calls.map((call) => linesOf(call).length)).toEqual([2, 1, 1]);
  });

  it.each([
    ['{name}', { start: 1, end: 7 }],
    [' {name}\n', { start: 1, end: 7 }],
    // Words that the translation does not have drop the place, and not the finding.
    ['您', null],
    ['', null],
    [null, null],
  ])('finds the place of the words %j', async (quote, span) => {
    const { evaluator, request } = await against((call, response) => {
      const rows = rowsOf(call);
      rows['u1']!.findings = [{ ...WRONG, quote }];
      sendJson(response, completion(rows));
    });
    const { results } = await evaluator.evaluate(request());
    expect(results[0]?.findings).toEqual([{ ...FOUND, span }]);
  });

  it('finds nothing with the provider of the demo', async () => {
    const demo = await startDemoProvider();
    onTestFinished(async () => {
      await demo.close();
    });
    const { evaluator, request } = await against(good, { url: demo.url });
    expect(await evaluator.evaluate(request())).toMatchObject({
      results: [
        { unitId: 'a', findings: [] },
        { unitId: 'b', findings: [] },
      ],
      failures: [],
    });
  });

  it('refuses rows that repeat another source', async () => {
    const { evaluator, request } = await against((call, response) => {
      const rows = Object.entries(rowsOf(call)).map(([id, row]) => [id, { ...row, s: 'x' }]);
      sendJson(response, completion(Object.fromEntries(rows)));
    });
    const { failures } = await evaluator.evaluate(request());
    expect(failures.map(({ message }) => message)).toEqual(
      TWO.map(() => 'the row does not repeat the beginning of its source in "s"'),
    );
  });

  it('keeps messages short and printable', async () => {
    const { evaluator, request } = await against((call, response) => {
      const rows = rowsOf(call);
      rows['u1']!.findings = [{ kind: 'tone', severity: 'info', message: `a\n\u0000b${'字'.repeat(900)}` }];
      sendJson(response, completion(rows));
    });
    const { results } = await evaluator.evaluate(request());
    expect(results[0]?.findings[0]?.message).toMatch(/^a b字+$/);
    expect(results[0]?.findings[0]?.message).toHaveLength(500);
  });

  it('stops at the cap of its run before it asks, and estimates at least what it used', async () => {
    const prices = { promptTokensPerMillion: 1, answerTokensPerMillion: 1 };
    const { evaluator, request, calls } = await against(good, { prices, limits: { batchUnits: 1 } });
    const estimate = evaluator.estimate(request());
    expect(estimate).toMatchObject({ requests: 2, characters: 11 });
    expect(estimate.promptTokens).toBeGreaterThan(0);
    const spending = createSpending({ maxTokens: 1, maxCost: null });
    const { failures } = await evaluator.evaluate(request({ spending }));
    expect(failures.map(({ code }) => code)).toEqual(['cap_reached', 'cap_reached']);
    expect(calls).toEqual([]);
  });

  it('waits at the rate of the provider', async () => {
    const { evaluator, request, calls, clock } = await against(good, {
      limits: { batchUnits: 1, requestsPerMinute: 1 },
    });
    const signal = AbortSignal.abort(new Error('cancelled'));
    await expect(evaluator.evaluate(request({ signal }))).rejects.toThrow('cancelled');
    expect((await evaluator.evaluate(request())).results).toHaveLength(2);
    expect(calls).toHaveLength(2);
    expect(clock.slept).toEqual([60_000]);
  });
});

const sheet = parseCharacterSheet(
  'Name,gender,tone,address_forms,notes,first_person,relations\nアリス,female,"polite, shy",お兄様 for Bob,x,わたくし,sister of Bob\nBob,male,,\n\nCarol,,,\n',
);

function promptOf(units: readonly ReturnType<typeof unit>[]) {
  const lines = units.map((each, index) => ({
    id: `u${index + 1}`,
    unitId: each.unitId,
    unit: each,
    masked: maskPlaceholders(each.sourceText, 'xml')!,
  }));
  const characters = charactersOfScene(sheet, ['Bob', 'アリス', 'Bob', 'nobody']);
  const subject = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans', characters, about: ['Item names.'] };
  const { system, user } = writePrompt(subject, lines, 'xml', 'Keep it short.');
  return { system, user: JSON.parse(user) };
}

describe('the text of a request', () => {
  describe('the prompt', () => {
    it('has languages, tokens, instructions, and everyone in the scene', () => {
      const { system, user } = promptOf([unit('a', 'x')]);
      expect(system).toContain('from Japanese to Simplified Chinese');
      expect(system).toContain('<x id="1"/>');
      expect(system).toMatch(/Keep it short\.$/);
      expect(user.characters).toEqual([
        { name: 'Bob', gender: 'male' },
        {
          name: 'アリス',
          gender: 'female',
          tone: 'polite, shy',
          first_person: 'わたくし',
          address: 'お兄様 for Bob',
          relations: 'sister of Bob',
        },
      ]);
      expect(user.about).toEqual(['Item names.']);
    });

    it('shows lines and their neighbours as one script, each once, with terms, length, findings and masked examples', () => {
      const examples = ['{a}1', '{b}', '{a}2', '{a}3', '{a}4'].map((source) => ({
        source,
        target: `${source}!`,
      }));
      const text = (place: number, source: string, target: string | null = null, speaker = 'アリス') => ({
        place,
        speaker,
        text: source,
        target,
      });
      const sword = { source: '剣', recommended: '剑', allowed: ['刀'], forbidden: ['枪'] };
      const inn = { source: '宿', recommended: '旅馆', allowed: [], forbidden: [] };
      const { user } = promptOf([
        unit('a', '{a}剣の宿', {
          place: 4,
          speaker: 'Bob',
          around: [text(2, 'p', 'P'), text(3, 'アリス'), text(5, 'second'), text(6, 'q')],
          constraints: [sword, inn],
          examples,
          maxLength: 9,
        }),
        unit('b', '宿', {
          place: 9,
          around: [text(6, 'q'), text(8, 'r')],
          constraints: [{ ...inn, recommended: '客栈' }],
          findings: ['too long'],
        }),
      ]);
      expect(user.terms).toEqual([{ term: '剣', use: '剑', or: ['刀'], never: ['枪'] }]);
      expect(user.script).toEqual([
        { speaker: 'アリス', text: 'p', translation: 'P' },
        // The name of a speaker is no line.
        {
          id: 'u1',
          speaker: 'Bob',
          text: '<x id="1"/>剣の宿',
          tokens: { 1: 'value: a' },
          // Another place wants another word.
          terms: [{ term: '宿', use: '旅馆' }],
          examples: [
            { source: '<x id="1"/>1', target: '<x id="1"/>1!' },
            { source: '<x id="1"/>2', target: '<x id="1"/>2!' },
            { source: '<x id="1"/>3', target: '<x id="1"/>3!' },
          ],
          max_length: 9,
        },
        { speaker: 'アリス', text: 'second' },
        { speaker: 'アリス', text: 'q' },
        '…',
        { speaker: 'アリス', text: 'r' },
        { id: 'u2', text: '宿', terms: [{ term: '宿', use: '客栈' }], fix: ['too long'] },
      ]);
    });

    it('says once what all lines are and where they belong, and beside each line what differs', () => {
      const scene = '1-2';
      const { user } = promptOf([
        unit('a', 'x', { kind: 'dialogue', scene }),
        unit('b', 'y', { place: 1, kind: 'button', scene }),
        unit('c', 'z', { place: 2, scene }),
      ]);
      expect([user.scene, user.kind]).toEqual([scene, undefined]);
      expect(user.script).toEqual([
        { id: 'u1', text: 'x', kind: 'dialogue' },
        { id: 'u2', text: 'y', kind: 'button' },
        { id: 'u3', text: 'z' },
      ]);
      const same = promptOf([
        unit('a', 'x', { kind: 'button' }),
        unit('b', 'y', { place: 1, kind: 'button' }),
      ]);
      expect([same.user.kind, same.user.script[0].kind]).toEqual(['button', undefined]);
    });

    it.each([
      ['{name}', 'value: name'],
      ['{0:N2}', 'value'],
      ['%d', 'number'],
      ['%1$s', 'text'],
      ['%02x', 'number'],
      ['%c', 'text'],
      ['<color=#ff8800>', 'start of color'],
      ['</color>', 'end of color'],
      ['<ruby=しれいぶ>', 'ruby, the reading is しれいぶ'],
      ['<sprite name="x">', 'tag sprite'],
      ['<br/>', 'line break'],
      ['[[1]]', 'value'],
    ])('says what %s stands for', (placeholder, description) => {
      expect(describePlaceholder(placeholder)).toBe(description);
    });

    it('says what each token stands for by its number, or by itself where it shows none', () => {
      const tokensOf = (style: 'xml' | 'private-use') => {
        const masked = maskPlaceholders('{a} %d', style)!;
        const subject = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans', characters: [], about: [] };
        const line = { id: 'u1', unitId: 'a', unit: unit('a', '{a} %d'), masked };
        const { script } = JSON.parse(writePrompt(subject, [line], style, null).user);
        return script[0].tokens;
      };
      expect(tokensOf('xml')).toEqual({ 1: 'value: a', 2: 'number' });
      expect(tokensOf('private-use')).toEqual({ '\uE000': 'value: a', '\uE001': 'number' });
    });

    it('has a digest that changes with what it says', () => {
      const digests = [promptDigest('xml', null), promptDigest('brackets', null), promptDigest('xml', 'x')];
      expect(new Set(digests).size).toBe(3);
      expect(promptDigest('xml', null)).toBe(digests[0]);
      expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
    });
  });

  describe('the character sheet', () => {
    it('is read from a file', async () => {
      const path = join(await temporaryDirectory(), 'characters.csv');
      await writeFile(path, '\uFEFFname\nBob\n');
      expect((await readCharacterSheet(path)).get('Bob')?.gender).toBe('');
      await expect(readCharacterSheet(`${path}.no`)).rejects.toThrow('cannot be read');
    });

    it.each([
      ['who\nBob', 'row 1 has no column "name"'],
      ['name\nBob\nBob', 'row 3: "Bob" already has a row'],
      ['name,tone\n,calm', 'row 2 has no name'],
      [`name,tone\nBob,${'x'.repeat(1001)}`, 'row 2: tone has more than 1000 characters'],
      ['name\n"Bob', 'row 2'],
    ])('refuses %j', (text, message) => {
      expect(() => parseCharacterSheet(text)).toThrow(message);
    });
  });
});
