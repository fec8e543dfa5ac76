import { register } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import { createMetricsServer, createRegistry } from '../../../../src/platform/metrics/metrics.ts';

async function start() {
  const registry = createRegistry({ name: 'slipway-test', version: '1.2.3' });
  const server = await createMetricsServer({
    registry,
    host: '127.0.0.1',
    port: 0,
    logger: createSilentLogger(),
  });
  onTestFinished(async () => {
    await server.close(AbortSignal.abort());
  });
  return { registry, url: server.url };
}

describe('createMetricsServer', () => {
  it('serves the process metrics and the build', async () => {
    const { url } = await start();
    const response = await fetch(`${url}/metrics`);
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    expect(text).toContain('slipway_build_info{program="slipway-test",version="1.2.3"} 1');
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(Number(response.headers.get('content-length'))).toBe(Buffer.byteLength(text));
  });

  it('answers HEAD with only the headers', async () => {
    const { url } = await start();
    const response = await fetch(`${url}/metrics`, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
    expect(await response.text()).toBe('');
  });

  it.each(['/', '/metrics/', '/metricsx', '/admin/metrics', '/debug'])('does not serve %s', async (path) => {
    const { url } = await start();
    const response = await fetch(`${url}${path}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found', status: 404 });
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])(
    'refuses %s and names the allowed methods',
    async (method) => {
      const { url } = await start();
      const response = await fetch(`${url}/metrics`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('GET, HEAD');
    },
  );

  it('answers 500 without internals when a collector fails', async () => {
    const { registry, url } = await start();
    registry.registerMetric({
      name: 'broken',
      get: () => {
        throw new Error('secret detail');
      },
    } as never);
    const response = await fetch(`${url}/metrics`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret detail');
  });
});

describe('createRegistry', () => {
  it('leaves the global registry alone', () => {
    createRegistry({ name: 'a', version: '1' });
    createRegistry({ name: 'b', version: '1' });
    expect(register.getMetricsAsArray()).toEqual([]);
  });
});
