import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDemoProvider } from '../../demo/demo-provider.ts';
import { addChrfCounts, chrfCounts, chrfScore, NO_CHRF_COUNTS } from '../../src/domain/translation/chrf.ts';
import type { QualityReport } from '../../src/localization/translation/quality/quality-report.ts';
import figures from '../support/chrf-figures.json' with { type: 'json' };
import { pythonProgram } from '../support/python-tools.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const PROGRAM = resolve(import.meta.dirname, '../../cmd/slipway.ts');

it('slipway translations evaluate measures the provider of the demo from the command line', async () => {
  const folder = await temporaryDirectory();
  const provider = await startDemoProvider();
  onTestFinished(async () => {
    await provider.close();
  });
  const [set, config, page] = ['set.csv', 'daemon.yaml', 'report.html'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(
    set,
    'source,target\n先生、おはようございます。,老师，早上好。\n{0}個の石を手に入れました。,获得了{0}块宝石。\n',
  );
  const demo = { kind: 'openai', url: provider.url, model: 'demo', allowHosts: ['127.0.0.1'] };
  // The sections of a daemon that are not read may have anything in them.
  await writeFile(config, JSON.stringify({ translation: { provider: 'demo', providers: { demo } } }));
  const argv = [
    PROGRAM,
    'translations',
    'evaluate',
    '--set',
    set,
    '--config',
    config,
    '--html',
    page,
    '--json',
  ];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(err).toContain('2 of 2 texts; the estimate is high rather than low');
  const { variants, texts } = JSON.parse(out) as QualityReport;
  expect(variants).toMatchObject([{ name: 'demo', translated: 2, tokens: { of: 1, kept: 1 } }]);
  expect(texts[0]?.answers).toMatchObject([{ target_text: '老师，早上好。', chrf: 100 }]);
  expect(texts[1]?.answers[0]?.chrf).toBeGreaterThan(30);
  expect(texts[1]?.answers[0]?.chrf).toBeLessThan(100);
  expect(await readFile(page, 'utf8')).toContain('获得了{0}块宝石。');
});

it('slipway translations evaluate waits between two tries of a provider that is out, and reports', async () => {
  const folder = await temporaryDirectory();
  const server = createServer((_, response) => response.writeHead(503).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const [set, config] = [join(folder, 'set.csv'), join(folder, 'daemon.yaml')];
  await writeFile(set, 'source,target\nはい,是\n');
  const out = {
    kind: 'openai',
    url: `http://127.0.0.1:${String(port)}/v1`,
    model: 'm',
    allowHosts: ['127.0.0.1'],
  };
  await writeFile(config, JSON.stringify({ translation: { provider: 'out', providers: { out } } }));
  const argv = [PROGRAM, 'translations', 'evaluate', '--set', set, '--config', config, '--json'];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [report] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect(child.exitCode).toBe(1);
  expect((JSON.parse(report) as QualityReport).variants).toMatchObject([
    { name: 'out', translated: 0, failed: 1 },
  ]);
});

const python = pythonProgram('translation-tools', null);

describe.skipIf(python === null)('sacrebleu', () => {
  it('gives the chrF that Slipway gives, and that the stored figures have', () => {
    const script = resolve(import.meta.dirname, '../support/score-chrf.py');
    const answer = execFileSync(python ?? '', [script], {
      input: JSON.stringify(figures.pairs),
      encoding: 'utf8',
    });
    const { version, scores, corpus } = JSON.parse(answer) as typeof figures;
    expect(version).toBe(figures.version);
    const counts = figures.pairs.map(([translation = '', reference = '']) =>
      chrfCounts(translation, reference),
    );
    for (const [at, score] of scores.entries()) expect(chrfScore(counts[at] ?? [])).toBeCloseTo(score, 9);
    expect(chrfScore(counts.reduce(addChrfCounts, NO_CHRF_COUNTS))).toBeCloseTo(corpus, 9);
    expect(scores).toEqual(figures.scores);
  });
});
