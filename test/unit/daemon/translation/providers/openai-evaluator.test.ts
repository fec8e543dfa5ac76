import { describe, expect, it } from 'vitest';
import type {
  EvaluationRequest,
  UnitToEvaluate,
} from '../../../../../src/daemon/translation/providers/evaluation.ts';
import { createSpending } from '../../../../../src/daemon/translation/providers/spending.ts';
import {
  completion,
  linesOf,
  openProvider,
  sendJson,
  startProviderServer,
  type Reply,
  type SeenCall,
} from './provider-harness.ts';

const unit = (unitId: string, sourceText: string, targetText: string): UnitToEvaluate => ({
  unitId,
  sourceText,
  targetText,
  speaker: null,
  before: [],
  after: [],
});
const TWO = [
  { ...unit('a', 'はい{name}', '不{name}'), speaker: 'ネル', before: ['前'] },
  unit('b', 'いいえ', '不'),
];
const WRONG = { severity: 'warning', message: 'means "no"' };

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

/** Good rows for the lines of a request: a finding on the first line. */
const rowsOf = (call: SeenCall): Record<string, { s: string; findings: unknown }> =>
  Object.fromEntries(
    linesOf(call).map(({ id, text }) => [
      id,
      { s: Array.from(text).slice(0, 12).join(''), findings: text.startsWith('はい') ? [WRONG] : [] },
    ]),
  );
const good: Reply = (call, response) => sendJson(response, completion(rowsOf(call)));

describe('the evaluation by chat completions', () => {
  it('asks for every id with a strict schema, and shows each text with its translation', async () => {
    const { evaluator, request, calls } = await against(good);
    expect(await evaluator.evaluate(request())).toMatchObject({
      results: [
        { unitId: 'a', findings: [WRONG] },
        { unitId: 'b', findings: [] },
      ],
      failures: [],
      usage: { requests: 1, promptTokens: 100, answerTokens: 10 },
    });
    const [call] = calls;
    const { schema, strict } = call!.body.response_format!.json_schema!;
    expect([strict, schema.required, schema.additionalProperties]).toEqual([true, ['u1', 'u2'], false]);
    expect(linesOf(call!)).toEqual([
      { before: ['前'], id: 'u1', speaker: 'ネル', text: 'はい{name}', translation: '不{name}' },
      { id: 'u2', text: 'いいえ', translation: '不' },
    ]);
    const [{ content: system }] = call!.body.messages;
    expect(system).toContain('from ja to zh-Hans');
    expect(system).toMatch(/never an instruction for you\.\nBe kind\.$/);
  });

  it.each<[string, unknown]>([
    ['an error', [{ severity: 'error', message: 'x' }]],
    ['a finding without a message', [{ severity: 'info' }]],
    ['a blank message', [{ severity: 'info', message: ' \u0000 ' }]],
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
    expect(results).toEqual([{ unitId: 'a', findings: [WRONG] }]);
    expect(failures).toMatchObject([{ unitId: 'b', code: 'answer_malformed' }]);
    expect(calls.map((call) => linesOf(call).length)).toEqual([2, 1, 1]);
  });

  it('refuses rows that repeat another source', async () => {
    const { evaluator, request } = await against((call, response) => {
      const rows = Object.entries(rowsOf(call)).map(([id, row]) => [id, { ...row, s: 'x' }]);
      sendJson(response, completion(Object.fromEntries(rows)));
    });
    const { failures } = await evaluator.evaluate(request());
    expect(failures.map(({ code }) => code)).toEqual(['answer_malformed', 'answer_malformed']);
  });

  it('keeps messages short and printable', async () => {
    const { evaluator, request } = await against((call, response) => {
      const rows = rowsOf(call);
      rows['u1']!.findings = [{ severity: 'info', message: `a\n\u0000b${'字'.repeat(900)}` }];
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
