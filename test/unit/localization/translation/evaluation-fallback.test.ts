import { describe, expect, it } from 'vitest';
import {
  completion,
  linesOf,
  sendJson,
  startProviderServer,
  type SeenCall,
} from '../../../support/provider-harness.ts';
import { openReviewWorld } from '../../../support/review-world.ts';

const noFindings = (call: SeenCall): object => ({
  rows: linesOf(call).map(({ id, text }) => ({
    id,
    s: Array.from(text).slice(0, 12).join(''),
    findings: [],
  })),
});

describe('the evaluation of targets', () => {
  it('asks the fallback when the provider has trouble of its own', async () => {
    const first = await startProviderServer((_call, response) => sendJson(response, {}, 402));
    const second = await startProviderServer((call, response) =>
      sendJson(response, completion(noFindings(call))),
    );
    const of = (url: string): object => ({ kind: 'openai', url, model: 'm', allowHosts: ['127.0.0.1'] });
    const prices = { promptTokensPerMillion: 1 };
    const providers = { first: { ...of(first.url), prices, fallback: 'second' }, second: of(second.url) };
    const world = await openReviewWorld({ providers });
    world.store('b.json', [{ text: 'T0' }, { text: 'T1' }]);
    expect(await world.run('proofread', { provider: 'first' })).toMatchObject({
      evaluation: { evaluated: 2, failures: {}, usage: { requests: 2 }, stopped: null },
    });
    expect([first.calls.length, second.calls.length]).toEqual([1, 1]);
    // What the fallback costs is not known.
    await expect(world.run('proofread', { provider: 'first', max_cost: 1 })).rejects.toMatchObject({
      message: expect.stringContaining('translation.providers.second.prices') as string,
    });
  });
});
