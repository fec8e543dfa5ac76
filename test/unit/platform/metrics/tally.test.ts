import { Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createTallyCounter, createTallyHistogram } from '../../../../src/platform/metrics/tally.ts';

it('counts what was added, across collections', async () => {
  const registry = new Registry();
  const requests = createTallyCounter({ name: 'requests', help: 'Help.', labelNames: ['status'], registry });
  const ok = requests({ status: 200 });
  ok.add(2);
  requests({ status: 404 }).add(1);
  await registry.metrics();
  ok.add(3);
  expect(await registry.metrics()).toBe(
    '# HELP requests Help.\n# TYPE requests counter\nrequests{status="200"} 5\nrequests{status="404"} 1\n',
  );
});

it('writes what a histogram of prom-client writes', async () => {
  const options = { name: 'seconds', help: 'Help.', labelNames: ['route'] as const };
  const buckets = [0.001, 0.1, 10];
  const ours = new Registry();
  const series = createTallyHistogram({ ...options, buckets, registry: ours })({ route: '/a' });
  const theirs = new Registry();
  const histogram = new Histogram({ ...options, labelNames: ['route'], buckets, registers: [theirs] });
  for (const value of [0, 0.0005, 0.001, 0.002, 0.1, 0.5, 10, 11]) {
    series.observe(value);
    histogram.observe({ route: '/a' }, value);
  }
  const lines = (text: string): string[] =>
    // Labels may come in any order.
    text
      .split('\n')
      .map((line) => line.replace(/\{(.*)\}/, (_, labels: string) => labels.split(',').sort().join()));
  expect(lines(await ours.metrics())).toEqual(lines(await theirs.metrics()));
  expect((await ours.getMetricsAsJSON())[0]).toMatchObject({ type: 'histogram', aggregator: 'sum' });
});
