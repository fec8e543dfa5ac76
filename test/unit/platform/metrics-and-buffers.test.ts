import { register, Registry } from 'prom-client';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { SpareBuffers } from '../../../src/platform/memory/spare-buffers.ts';
import { createMetricsServer, createRegistry } from '../../../src/platform/metrics/metrics.ts';
import { createTallyCounter } from '../../../src/platform/metrics/tally.ts';

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

describe('the metrics of a process', () => {
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
      expect(text).not.toContain('utilization');
      expect(Number(response.headers.get('content-length'))).toBe(Buffer.byteLength(text));
    });

    it('answers HEAD with only the headers', async () => {
      const { url } = await start();
      const response = await fetch(`${url}/metrics`, { method: 'HEAD' });
      expect(response.status).toBe(200);
      expect(Number(response.headers.get('content-length'))).toBeGreaterThan(0);
      expect(await response.text()).toBe('');
    });

    it.each(['/', '/metrics/', '/metricsx', '/admin/metrics', '/debug'])(
      'does not serve %s',
      async (path) => {
        const { url } = await start();
        const response = await fetch(`${url}${path}`);
        expect(response.status).toBe(404);
        expect(await response.json()).toMatchObject({ code: 'not_found', status: 404 });
      },
    );

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
});

describe('a tally', () => {
  it('counts all additions, across collections', async () => {
    const registry = new Registry();
    const requests = createTallyCounter({
      name: 'requests',
      help: 'Help.',
      labelNames: ['status'],
      registry,
    });
    const ok = requests({ status: 200 });
    ok.add(2);
    requests({ status: 404 }).add(1);
    await registry.metrics();
    ok.add(3);
    expect(await registry.metrics()).toBe(
      '# HELP requests Help.\n# TYPE requests counter\nrequests{status="200"} 5\nrequests{status="404"} 1\n',
    );
  });
});

const KIB = 1024;

describe('spare buffers', () => {
  test('a buffer is as long as requested and not much longer', () => {
    const buffers = new SpareBuffers(KIB * KIB);
    const lengths = [0, 1, 64 * KIB, 64 * KIB + 1, 500_000, KIB * KIB];
    expect(lengths.map((length) => buffers.take(length).byteLength / KIB)).toEqual([
      64, 64, 64, 128, 512, 1024,
    ]);
  });

  test('buffers are reused, and never handed out twice', () => {
    const buffers = new SpareBuffers(KIB * KIB);
    const first = buffers.take(KIB * KIB);
    expect(buffers.take(KIB * KIB)).not.toBe(first);
    buffers.put(first);
    expect(buffers.bytes).toBe(KIB * KIB);
    expect(buffers.take(600 * KIB)).toBe(first);
    expect(buffers.bytes).toBe(0);
  });

  test('no more than allowed is kept, and nothing of another size', () => {
    const buffers = new SpareBuffers(200 * KIB);
    for (const size of [64, 128, 64, 100, 0, 32]) buffers.put(new ArrayBuffer(size * KIB));
    expect(buffers.bytes).toBe(192 * KIB);
  });

  test('a size in demand takes the place of one that is not', () => {
    const buffers = new SpareBuffers(4 * KIB * KIB);
    // As after a pass over a release.
    for (let at = 0; at < 4; at += 1) buffers.put(new ArrayBuffer(KIB * KIB));
    const taken = [buffers.take(64 * KIB), buffers.take(64 * KIB)];
    for (const each of taken) buffers.put(each);
    expect(buffers.bytes).toBe(3 * KIB * KIB + 2 * 64 * KIB);
    expect(taken).toContain(buffers.take(64 * KIB));
    expect(taken).toContain(buffers.take(64 * KIB));
    // And not in the opposite direction.
    for (const each of taken) buffers.put(each);
    for (let at = 0; at < 4; at += 1) buffers.put(new ArrayBuffer(KIB * KIB));
    expect(buffers.bytes).toBe(3 * KIB * KIB + 2 * 64 * KIB);
    buffers.put(new ArrayBuffer(2 * 4 * KIB * KIB));
    expect(buffers.bytes).toBe(3 * KIB * KIB + 2 * 64 * KIB);
  });
});
