import { once } from 'node:events';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BLOCK_SIZE } from '../../../../src/domain/release/blocks.ts';
import { createLogger } from '../../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import {
  createRequestObserver,
  createRequestRecorder,
  type FinishedRequest,
} from '../../../../src/server/http/observe-request.ts';
import { createServerMetrics } from '../../../../src/server/metrics.ts';
import { createBlockHashPool } from '../../../fakes/block-hash-pool.ts';
import { CDN_HOST, patternBytes, serveFiles, startCdn } from '../../../support/cdn-fixture.ts';
import { startFronted } from '../../../support/fast-path-fixture.ts';
import { openSocket } from '../../../support/raw-http.ts';
import { until } from '../../../support/until.ts';

const FILE = 'a.bundle';

/** A server of one file of three blocks that sends none from a given one on. */
async function startStalling({ fast, from }: { readonly fast: boolean; readonly from: number }) {
  const held = Promise.withResolvers<void>();
  const blocks = createBlockHashPool();
  const cdn = await startCdn({
    pool: {
      hashBlock: async (fd, start, end) => {
        if (start >= from) await held.promise;
        return await blocks.hashBlock(fd, start, end);
      },
    },
  });
  onTestFinished(() => {
    held.resolve();
  });
  await serveFiles(cdn, { [FILE]: patternBytes(3 * BLOCK_SIZE) });
  const server = await startFronted(cdn, { fast });
  const ended = server.fast;
  if (!fast) {
    const observe = createRequestObserver(
      (finished: FinishedRequest) => void ended.push(finished),
      systemClock,
    );
    server.server.prependListener('request', (request, response) => {
      observe({ request, response, route: 'bytes', requestId: 'id' });
    });
  }
  return { cdn, server, ended };
}

/** The line and the series that a request leaves. */
async function record(
  finished: FinishedRequest,
): Promise<{ readonly line: object; readonly metrics: string }> {
  const registry = new Registry();
  const lines: string[] = [];
  createRequestRecorder({
    logger: createLogger({ name: 'test', level: 'info', destination: { write: (line) => lines.push(line) } }),
    metrics: createServerMetrics(registry),
    access: 'all',
    busyRoutes: new Set(),
  })(finished);
  return { line: JSON.parse(lines[0] ?? '{}') as object, metrics: await registry.metrics() };
}

describe.each([
  ['the fast path', true],
  ['the full server', false],
])('a client that leaves, on %s', (_name, fast) => {
  it('before any byte of the answer, is logged as aborted without a status', async () => {
    const { cdn, server, ended } = await startStalling({ fast, from: 0 });
    const socket = await openSocket(server.port);
    socket.write(`GET /${CDN_HOST}/${FILE} HTTP/1.1\r\nHost: h\r\n\r\n`);
    await until(() => cdn.hashed.length > 0);
    socket.destroy();
    const finished = await until(() => ended[0]);
    const { line, metrics } = await record(finished);
    expect(line).toMatchObject({ route: 'bytes', outcome: 'aborted', status: null, bytes: 0 });
    expect(metrics).toContain('slipway_http_requests_total{route="bytes",method="GET",status="none"} 1');
    expect(server.fullRequests()).toBe(fast ? 0 : 1);
  });

  it('after a part of the bytes, is logged as aborted with the status and the bytes that it got', async () => {
    const { server, ended } = await startStalling({ fast, from: BLOCK_SIZE });
    const socket = await openSocket(server.port);
    socket.write(`GET /${CDN_HOST}/${FILE} HTTP/1.1\r\nHost: h\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
    const finished = await until(() => ended[0]);
    const { line, metrics } = await record(finished);
    expect(line).toMatchObject({ route: 'bytes', outcome: 'aborted', status: 200 });
    expect(finished.bytes).toBeGreaterThan(0);
    expect(finished.bytes).toBeLessThan(3 * BLOCK_SIZE);
    expect(metrics).toContain('slipway_http_requests_total{route="bytes",method="GET",status="200"} 1');
    expect(server.fullRequests()).toBe(fast ? 0 : 1);
  });
});
