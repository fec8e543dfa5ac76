import { describe, expect, it } from 'vitest';
import { createRegistry } from '../../../../src/platform/metrics/metrics.ts';
import { createTrafficReader } from '../../../../src/server/history/traffic-reader.ts';
import { createServerMetrics } from '../../../../src/server/metrics.ts';
import { createCdnMetrics } from '../../../../src/server/bytes/cdn-metrics.ts';

const NOTHING = { requests: 0, serverErrors: 0, sentBytes: 0 };

describe('the traffic of a server', () => {
  it('is read from its metrics, since the last read, of the routes of clients', async () => {
    const registry = createRegistry({ name: 'slipway-server', version: '0.1.0' });
    const metrics = createServerMetrics(registry);
    const none = (): number => 0;
    const cdn = createCdnMetrics(registry, {
      inFlightBytes: none,
      openDescriptors: none,
      cachedBytes: none,
    });
    const read = createTrafficReader({ registry, isOfClients: (route) => route !== '/readyz' });
    expect(await read()).toEqual(NOTHING);
    const request = { method: 'GET', bytes: 900, seconds: 0.1 };
    metrics.request({ ...request, route: '/v1/release', status: 200 });
    metrics.request({ ...request, route: '/v1/release', status: 503 });
    metrics.request({ ...request, route: '/v1/release', status: null });
    metrics.request({ ...request, route: '/readyz', status: 503 });
    cdn.sentBytes.official.add(1000);
    cdn.sentBytes.localized.add(24);
    expect(await read()).toEqual({ requests: 3, serverErrors: 1, sentBytes: 1024 });
    expect(await read()).toEqual(NOTHING);
    metrics.request({ ...request, route: '/v1/release', status: 200 });
    expect(await read()).toEqual({ requests: 1, serverErrors: 0, sentBytes: 0 });
  });

  it('is nothing in a process without these metrics', async () => {
    const registry = createRegistry({ name: 'slipway-server', version: '0.1.0' });
    expect(await createTrafficReader({ registry, isOfClients: () => true })()).toEqual(NOTHING);
  });
});
