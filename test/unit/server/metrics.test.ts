import { expect, it } from 'vitest';
import { listOperations } from '../../../src/contract/operations/operations.ts';
import { readMetrics } from '../../support/metric-series.ts';
import { startTestServer } from '../../support/start-test-server.ts';

it('a server that nobody has asked has every counter at 0, each operation with the statuses that it declares', async () => {
  const { registry } = await startTestServer({ refresh: false });
  const text = await registry.metrics();
  const lines = new Set(text.split('\n'));
  for (const { method, path, answers } of listOperations()) {
    for (const status of [...Object.keys(answers), '500']) {
      const labels = `route="${path}",method="${method.toUpperCase()}",status="${status}"`;
      expect(lines).toContain(`slipway_http_requests_total{${labels}} 0`);
    }
  }
  expect(lines).toContain('slipway_cdn_responses_total{channel="official",status="503"} 0');
  expect(lines).toContain('slipway_cdn_responses_total{channel="none",status="500"} 0');
  // The byte path never sees a request that its token does not admit.
  expect(text).not.toMatch(/^slipway_cdn_responses_total\{.*status="(401|429)"/mu);
  expect(lines).toContain(
    'slipway_admin_forward_duration_seconds_count{report="control",outcome="unavailable"} 0',
  );
  const declared = [...text.matchAll(/^# TYPE (slipway_\S+) counter$/gmu)].map(([, name = '']) => name);
  const metrics = readMetrics(text);
  expect(declared.length).toBeGreaterThan(10);
  // No token of this server has limits.
  expect(declared.filter((name) => !metrics.has(name))).toEqual(['slipway_token_limited_requests_total']);
  expect(metrics.get('slipway_http_requests_total')?.series).toBeLessThan(250);
});

it('the first failure of a route is an increase, and adds no series', async () => {
  const { registry, url } = await startTestServer({ refresh: false });
  const before = readMetrics(await registry.metrics()).get('slipway_http_requests_total');
  expect((await fetch(`${url}/v1/bootstrap`)).status).toBe(503);
  const text = await registry.metrics();
  expect(text).toContain('slipway_http_requests_total{route="/v1/bootstrap",method="GET",status="503"} 1');
  expect(readMetrics(text).get('slipway_http_requests_total')?.series).toBe(before?.series);
});
