import { expect, it, onTestFinished } from 'vitest';
import { startDemoProvider } from '../../demo/demo-provider.ts';
import { ctl } from '../support/ctl.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { startTranslationSystem } from '../support/translation-system.ts';

it('slipway ctl glossary mine finds the terms of a release, and leaves ordinary words to the model', async () => {
  const provider = await startDemoProvider();
  onTestFinished(async () => {
    await provider.close();
  });
  const demo = { kind: 'openai', url: provider.url, model: 'demo', allowHosts: ['127.0.0.1'] };
  const tokenFile = await writeTokenFile('mining-token-4711', onTestFinished);
  const world = await startTranslationSystem(
    {
      'a.json': ['アビドスへようこそ。', '今日はアビドスにいます。'],
      'b.json': ['今日のアビドスは暑い。', 'ゲヘナは遠い。'],
    },
    { translation: { providers: { demo } } },
    onTestFinished,
    { admin: { tokenFiles: [tokenFile], exposeControl: true } },
  );
  const mine = async (...args: readonly string[]) =>
    await ctl(['--url', world.system.serverUrl, '--token-file', tokenFile, 'glossary', 'mine', ...args]);
  const trial = await mine('min_count=2', 'dry_run=true');
  expect([trial.code, trial.err]).toEqual([0, '']);
  expect(trial.out).toMatch(/アビドス +- +3 [^]*今日 +- +2 [^]*2 terms found; nothing was added/);
  const { out: estimate } = await mine('min_count=2', 'provider=demo', 'dry_run=true');
  expect(estimate).toMatch(
    /nothing was added; a model would sort them with about 1 request, \d+ tokens, and a cost of 0\n$/,
  );
  const { out } = await mine('min_count=2', 'provider=demo', 'max_tokens=100000');
  expect(out).toMatch(/アビドス +name +3 /);
  expect(out).toContain(
    '1 draft added for a person to approve (0 found terms are in the Glossary already, 1 is an ordinary word)',
  );
  const { items } = await world.report('translation.glossary.query', { review_status: 'draft' });
  expect(items).toMatchObject([
    {
      source_term: 'アビドス',
      category: 'name',
      recommended_translation: '',
      source: { source_ref: 'term-mine r1', source_note: expect.stringMatching(/^in 3 texts\n/) as unknown },
    },
  ]);
  const refused = await mine('min_counts=2');
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain('must be one of min_count=..., limit=...');
});
