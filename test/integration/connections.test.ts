import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { BYTE_PATHS, SMALL } from '../support/byte-path.ts';
import { ask, HttpConnection, renderRequest } from '../support/http-connection.ts';
import { parseAnswer } from '../support/raw-http.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSlowDownload } from '../support/slow-download.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;
const HUGE = 'MediaResources/huge.mp4';
const random = createRandom(29);
const small = random.bytes(5000);
/** More than the system buffers for a client that does not read. */
const huge = random.bytes(20 * MIB + 5);

async function serve(
  fastPath: boolean,
  config: Readonly<Record<string, unknown>>,
  atEnd: AtEnd = onTestFinished,
): Promise<ServedProcess> {
  return await startServedProcess({
    fastPath,
    release: { releaseId: 'r1', files: { [SMALL]: small, [HUGE]: huge } },
    config,
    atEnd,
  });
}

/** Opens a connection and has one response on it, so that the server has surely admitted it. */
async function openUsed(served: ServedProcess): Promise<HttpConnection> {
  const connection = await HttpConnection.open(served.port);
  onTestFinished(() => {
    connection.destroy();
  });
  await request(connection, served);
  return connection;
}

async function request(connection: HttpConnection, served: ServedProcess): Promise<void> {
  connection.send(renderRequest('GET', served.target(SMALL)));
  const answer = await connection.answer();
  expect([answer.status, answer.body.equals(small)]).toEqual([200, true]);
}

/** A probe of the metrics port. */
async function probe(served: ServedProcess, path: string): Promise<Response> {
  return await fetch(new URL(path, served.metricsUrl));
}

/** A probe of the public port, on its own connection. */
async function outsideProbe(served: ServedProcess, path = '/readyz'): Promise<Response> {
  return await fetch(`${served.url}${path}`, { headers: { connection: 'close' } });
}

function isOpen({ socket }: HttpConnection): boolean {
  return !socket.readableEnded && !socket.destroyed;
}

describe.each(BYTE_PATHS)('over the %s', (_name, fastPath) => {
  /** Each test ends its connections. */
  const limited = reusedFixture(
    async (atEnd) => await serve(fastPath, { limits: { maxConnections: 4 } }, atEnd),
  );

  it('bytes behind the last request of a connection do not cut its response', async () => {
    const served = await limited();
    const socket = connect({ host: '127.0.0.1', port: served.port });
    onTestFinished(() => {
      socket.destroy();
    });
    const chunks: Buffer[] = [];
    let error: Error | null = null;
    socket.on('error', (cause) => {
      error = cause;
    });
    socket.write(renderRequest('GET', served.target(HUGE), [['Connection', 'close']]));
    // It takes the response slowly, and sends more bytes all the time.
    const ended = (async () => {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        if (chunks.length % 16 === 0) await delay(1);
        if (socket.writable) socket.write(renderRequest('GET', served.target(SMALL)));
      }
    })();
    await ended.catch(() => undefined);
    const { body } = parseAnswer(Buffer.concat(chunks));
    expect([error, body.length]).toEqual([null, huge.length]);
    expect(body.equals(huge)).toBe(true);
  });

  it('at the limit the connection that was idle for longest gives way to a new one', async () => {
    const served = await limited();
    const connections: HttpConnection[] = [];
    // The pool of the test's own requests has given its connections back.
    for (let i = 0; i < 4; i += 1) connections.push(await openUsed(served));
    const [first, second, third, fourth] = connections as [
      HttpConnection,
      HttpConnection,
      HttpConnection,
      HttpConnection,
    ];
    await request(first, served);
    const fifth = await openUsed(served);
    await second.closed();
    expect([first, third, fourth, fifth].map(isOpen)).toEqual([true, true, true, true]);
    await request(third, served);
    const sixth = await openUsed(served);
    await fourth.closed();
    expect([first, third, fifth, sixth].map(isOpen)).toEqual([true, true, true, true]);
  });

  it('with only busy connections at the limit, new ones are closed, and the probes of the metrics port succeed', async () => {
    const served = await limited();
    const downloads = [];
    for (let i = 0; i < 4; i += 1) {
      downloads.push(
        await startSlowDownload(served.port, served.target(HUGE), [['Connection', 'keep-alive']]),
      );
    }
    const refused = await HttpConnection.open(served.port);
    await refused.closed();
    await expect(fetch(`${served.url}/healthz`)).rejects.toThrow();
    for (let i = 0; i < 3; i += 1) {
      expect((await probe(served, '/healthz')).status).toBe(200);
      expect((await probe(served, '/readyz')).status).toBe(200);
    }
    expect(await served.metric('slipway_http_connections_limited_total')).toBeGreaterThan(0);
    for (const download of downloads) download.abandon();
    await until(async () => (await ask(served.port, 'GET', served.target(SMALL))).status === 200);
  });

  it('one address holds at most its number of connections, unless it is a trusted proxy', async () => {
    const limits = { maxConnectionsPerAddress: 4 };
    const served = await serve(fastPath, { limits });
    const held: HttpConnection[] = [];
    // The pool of the test's own requests may hold some of them.
    await until(async () => {
      const next = await HttpConnection.open(served.port);
      held.push(next);
      next.send(renderRequest('GET', served.target(SMALL)));
      return (await next.answer()).wasCut;
    });
    expect(held.length).toBeLessThanOrEqual(5);
    expect(held.length).toBeGreaterThan(1);
    expect(held.slice(0, -1).every(isOpen)).toBe(true);
    // Another address has its own number.
    const other = connect({ host: '127.0.0.1', port: served.port, localAddress: '127.0.0.9' });
    onTestFinished(() => {
      other.destroy();
    });
    other.write(renderRequest('GET', served.target(SMALL), [['Connection', 'close']]));
    expect(await firstByte(other)).toBe(true);
    for (const connection of held) connection.destroy();
    await until(async () => (await ask(served.port, 'GET', served.target(SMALL))).status === 200);
    const proxied = await serve(fastPath, { limits: { ...limits, trustedProxies: ['127.0.0.0/8'] } });
    for (let i = 0; i < 8; i += 1) await openUsed(proxied);
  });
});

async function firstByte(socket: Socket): Promise<boolean> {
  return await new Promise((resolve) => {
    socket.once('data', () => {
      resolve(true);
    });
    socket.once('close', () => {
      resolve(false);
    });
  });
}

async function shapeOf(answer: Response): Promise<unknown> {
  const body = (await answer.json()) as object;
  return { status: answer.status, type: answer.headers.get('content-type'), members: Object.keys(body) };
}

describe('the probes of the metrics port', () => {
  it.each([1, 2])('answer what the public port answers, with %i workers', async (workers) => {
    const served = await serve(true, { workers });
    // Each worker answers for itself.
    await until(async () => {
      const answers = await Promise.all(Array.from({ length: 6 }, async () => await outsideProbe(served)));
      return answers.every(({ status }) => status === 200);
    });
    for (const path of ['/healthz', '/readyz']) {
      await until(async () => {
        const [inside, outside] = await Promise.all([probe(served, path), outsideProbe(served, path)]);
        expect(await shapeOf(inside)).toEqual(await shapeOf(outside));
        return true;
      });
    }
    served.attest({});
    await served.untilReady(false);
    await until(async () => (await probe(served, '/readyz')).status === 503);
    expect((await probe(served, '/healthz')).status).toBe(200);
  });

  it('stay alive and unready while the server ends', async () => {
    const served = await serve(true, { shutdown: { propagationDelaySeconds: 0, drainSeconds: 30 } });
    const download = await startSlowDownload(served.port, served.target(HUGE));
    served.process.signal('SIGTERM');
    await until(async () => (await probe(served, '/readyz')).status === 503);
    expect((await probe(served, '/healthz')).status).toBe(200);
    expect((await download.finish()).wasCut).toBe(false);
    expect(await served.process.exited).toBe(0);
  });
});
