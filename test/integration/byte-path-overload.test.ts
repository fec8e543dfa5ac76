import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { BYTE_PATHS, SMALL } from '../support/byte-path.ts';
import { ask, HttpConnection, renderRequest } from '../support/http-connection.ts';
import { campaignSize, isLong } from '../support/long.ts';
import { processFigures } from '../support/process-figures.ts';
import { openSocket } from '../support/raw-http.ts';
import {
  startServedProcess,
  type ServedProcess,
  type ServedProcessOptions,
} from '../support/served-process.ts';
import { reusedFixture } from '../support/shared-fixture.ts';
import { startSlowDownload, type SlowDownload } from '../support/slow-download.ts';
import { hasTool } from '../support/tools.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const BLOCK = 'MediaResources/block.ogg';
const HUGE = 'MediaResources/huge.mp4';
const random = createRandom(16);
const small = random.bytes(5000);
const block = random.bytes(MIB);
/** More than the system buffers for a client that does not read. */
const huge = random.bytes(20 * MIB + 5);

const ABORTS = campaignSize(1500, 10_000);
const ABORTS_AT_ONCE = 32;
const STALLED = 150;
/** The extra memory that a serving process may hold: buffers in flight, and garbage that is not collected yet. */
const MEMORY_SLACK = 160 * MIB;
/** Connections of the test's own requests, kept alive, and of polls. */
const DESCRIPTOR_SLACK = 12;

async function serve(
  fastPath: boolean,
  config: Readonly<Record<string, unknown>> = {},
  { wrapper, atEnd }: Pick<ServedProcessOptions, 'wrapper' | 'atEnd'> = {},
): Promise<ServedProcess> {
  return await startServedProcess({
    fastPath,
    release: { releaseId: 'r1', files: { [SMALL]: small, [BLOCK]: block, [HUGE]: huge } },
    config: { cache: { blockBytes: 8 * MIB }, ...config },
    measuresMemory: true,
    ...(wrapper === undefined ? {} : { wrapper }),
    ...(atEnd === undefined ? {} : { atEnd }),
  });
}

/** Connects and keeps the connection open until the test ends. */
async function hold(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}

async function expectServing(served: ServedProcess): Promise<void> {
  for (const [name, bytes] of [
    [SMALL, small],
    [HUGE, huge],
  ] as const) {
    expect((await ask(served.port, 'GET', served.target(name))).body.equals(bytes)).toBe(true);
  }
}

async function descriptorsOf({ process }: ServedProcess): Promise<number> {
  return (await processFigures(process.pid)).descriptors;
}

/** Sends a request and disconnects: immediately, or after the first bytes, cleanly or not. */
async function abort(port: number, target: string, manner: number): Promise<void> {
  const socket = await openSocket(port);
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  socket.write(renderRequest('GET', target));
  if (manner % 2 === 0) await new Promise((resolve) => socket.once('data', resolve));
  if (manner < 2) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

async function abortStorm(served: ServedProcess, count: number): Promise<void> {
  const turns = Array.from({ length: count }, (_none, turn) => turn).values();
  const targets = [SMALL, BLOCK, SMALL, HUGE].map((name) => served.target(name));
  await Promise.all(
    Array.from({ length: ABORTS_AT_ONCE }, async () => {
      for (const turn of turns) await abort(served.port, targets[(turn >> 2) % 4] ?? '', turn % 4);
    }),
  );
}

describe.each(BYTE_PATHS)('over the %s', (_name, fastPath) => {
  /** Each test waits until its connections are gone. */
  const reused = reusedFixture(async (atEnd) => await serve(fastPath, {}, { atEnd }));

  it('thousands of clients that disconnect leave nothing behind', async () => {
    const served = await reused();
    await abortStorm(served, 500);
    await expectServing(served);
    const before = await processFigures(served.process.pid);
    await abortStorm(served, ABORTS);
    await expectServing(served);
    await until(async () => (await served.metric('slipway_cdn_in_flight_bytes')) === 0);
    await until(async () => (await descriptorsOf(served)) <= before.descriptors + DESCRIPTOR_SLACK);
    const { residentBytes } = await processFigures(served.process.pid);
    expect(residentBytes).toBeLessThan(before.residentBytes + MEMORY_SLACK);
  });

  it('clients that do not read cost little, and delay nobody', async () => {
    const served = await reused();
    await expectServing(served);
    const before = await processFigures(served.process.pid);
    const stalled: SlowDownload[] = [];
    for (let i = 0; i < STALLED; i += 1)
      stalled.push(await startSlowDownload(served.port, served.target(HUGE)));
    await expectServing(served);
    const budget = 64 * MIB + STALLED * 300 * 1024;
    const { residentBytes } = await processFigures(served.process.pid);
    expect(residentBytes).toBeLessThan(before.residentBytes + budget + MEMORY_SLACK);
    for (const download of stalled) download.abandon();
    await until(async () => (await served.metric('slipway_cdn_in_flight_bytes')) === 0);
    await until(async () => (await descriptorsOf(served)) <= before.descriptors + DESCRIPTOR_SLACK);
    await expectServing(served);
  });

  it('clients that are refused are disconnected, even if they stay', async () => {
    const served = await reused();
    await expectServing(served);
    const before = await descriptorsOf(served);
    const refused = [
      'GARBAGE\r\n\r\n',
      'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n',
      'GET / HTTP/2.0\r\n\r\n',
    ];
    for (let i = 0; i < 60; i += 1) {
      const socket = await hold(served.port);
      socket.allowHalfOpen = true;
      socket.resume();
      socket.write(refused[i % refused.length] ?? '');
    }
    await until(async () => (await descriptorsOf(served)) <= before + DESCRIPTOR_SLACK);
  });

  it('two thousand idle connections are held without harm', async () => {
    const served = await reused();
    await expectServing(served);
    const before = await processFigures(served.process.pid);
    const connections: HttpConnection[] = [];
    for (let i = 0; i < 2000; i += 1) {
      const connection = await HttpConnection.open(served.port);
      connections.push(connection);
      connection.send(renderRequest('HEAD', served.target(SMALL)));
    }
    for (const connection of connections) expect((await connection.answer('HEAD')).status).toBe(200);
    const { residentBytes } = await processFigures(served.process.pid);
    expect(residentBytes).toBeLessThan(before.residentBytes + 2000 * 20 * 1024 + MEMORY_SLACK);
    await expectServing(served);
    for (const connection of connections) connection.destroy();
    await until(async () => (await descriptorsOf(served)) <= before.descriptors + DESCRIPTOR_SLACK);
  });
});

/** What only takes connections costs a start for each test; users have the fast path. */
const SHIPPED_PATHS = BYTE_PATHS.filter(([, isFast]) => isFast || isLong);

describe.each(SHIPPED_PATHS)('over the %s, a server', (_name, fastPath) => {
  it('half a head, no head and half a body time out', async () => {
    // Longer than a busy machine needs from a connection to its first bytes.
    const served = await serve(fastPath, { limits: { headersTimeoutMs: 4000, requestTimeoutMs: 5000 } });
    const begun = renderRequest('GET', served.target(SMALL)).slice(0, -2);
    const closings = ['', 'G', begun, `${begun}X-Slow: `].map(async (bytes) => {
      const connection = await HttpConnection.open(served.port);
      if (bytes !== '') connection.send(bytes);
      const answer = await connection.answer();
      expect([bytes, answer.status, answer.headers['connection']]).toEqual([bytes, 408, 'close']);
      expect(answer.headers['date']).toBeDefined();
      await connection.closed();
    });
    // A head that arrives endlessly, byte by byte, also times out.
    const drip = await HttpConnection.open(served.port);
    drip.send(begun);
    const timer = setInterval(() => {
      drip.send('a');
    }, 50);
    const halfBody = await HttpConnection.open(served.port);
    halfBody.send(renderRequest('POST', served.target(SMALL), [['Content-Length', '10']]));
    expect((await halfBody.answer('POST')).status).toBe(405);
    await Promise.all([...closings, halfBody.closed(), drip.closed()]);
    clearInterval(timer);
    await expectServing(served);
  });

  it('only the allowed number of connections is held, and further ones are turned away', async () => {
    const served = await serve(fastPath, { limits: { maxConnections: 40 } });
    const before = await descriptorsOf(served);
    const sockets = await Promise.all(Array.from({ length: 200 }, async () => await hold(served.port)));
    await until(() => sockets.filter(({ destroyed }) => destroyed).length >= 160);
    expect(sockets.filter(({ destroyed }) => !destroyed).length).toBeGreaterThan(20);
    expect(await descriptorsOf(served)).toBeLessThan(before + 60);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await ask(served.port, 'GET', served.target(SMALL))).status === 200);
    await expectServing(served);
  });

  it.skipIf(!hasTool('prlimit'))(
    'without descriptors it keeps serving open connections, and accepts new ones when descriptors are free again',
    async () => {
      const served = await serve(fastPath, {}, { wrapper: ['prlimit', '--nofile=100:100'] });
      const early = await HttpConnection.open(served.port);
      early.send(renderRequest('GET', served.target(SMALL)));
      expect((await early.answer()).status).toBe(200);
      const sockets = await Promise.all(Array.from({ length: 150 }, async () => await hold(served.port)));
      await until(async () => (await descriptorsOf(served)) >= 99);
      early.send(renderRequest('GET', served.target(HUGE)));
      const answer = await early.answer();
      expect([200, 503]).toContain(answer.status);
      if (answer.status === 200) expect(answer.body.equals(huge)).toBe(true);
      early.destroy();
      for (const socket of sockets) socket.destroy();
      await served.untilReady(true);
      await expectServing(served);
    },
  );

  it('SIGTERM turns readiness, serves during the delay, finishes transfers, and exits with 0', async () => {
    const served = await serve(fastPath, { shutdown: { propagationDelaySeconds: 10, drainSeconds: 60 } });
    const idle = await HttpConnection.open(served.port);
    idle.send(renderRequest('GET', served.target(SMALL)));
    expect((await idle.answer()).status).toBe(200);
    const downloads = [
      await startSlowDownload(served.port, served.target(HUGE)),
      await startSlowDownload(served.port, served.target(HUGE), [['Range', 'bytes=5-']]),
    ];
    served.process.signal('SIGTERM');
    await until(async () => (await fetch(`${served.url}/readyz`)).status === 503);
    expect((await ask(served.port, 'GET', served.target(SMALL))).body.equals(small)).toBe(true);
    await until(async () => {
      const socket = await openSocket(served.port).catch(() => null);
      socket?.destroy();
      return socket === null;
    });
    expect((await idle.closed()).rest.length).toBe(0);
    const [whole, part] = await Promise.all(downloads.map(async (download) => await download.finish()));
    expect([whole?.wasCut, whole?.body.length]).toEqual([false, huge.length]);
    expect([part?.wasCut, part?.body.length]).toEqual([false, huge.length - 5]);
    expect(whole?.body.equals(huge)).toBe(true);
    expect(part?.body.equals(huge.subarray(5))).toBe(true);
    expect(await served.process.exited).toBe(0);
  });

  it('SIGTERM cuts transfers that do not end in time, and exits with 0', async () => {
    const served = await serve(fastPath, { shutdown: { propagationDelaySeconds: 0, drainSeconds: 1 } });
    const download = await startSlowDownload(served.port, served.target(HUGE));
    served.process.signal('SIGTERM');
    expect(await served.process.exited).toBe(0);
    const { body, wasCut } = await download.finish();
    expect(wasCut).toBe(true);
    expect(body.equals(huge.subarray(0, body.length))).toBe(true);
  });
});
