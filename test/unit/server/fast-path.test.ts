import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { BytePathLimits } from '../../../src/server/bytes/byte-path-limits.ts';
import { objectPath } from '../../../src/snapshot/volume/layout.ts';
import { fakeRelease } from '../../fakes/fake-serving.ts';
import { CDN_HOST, patternBytes, serveFiles, startCdn, storeObject } from '../../support/cdn-fixture.ts';
import { startFronted, type FrontedServer } from '../../support/fast-path-fixture.ts';
import { HttpConnection } from '../../support/http-connection.ts';
import { openSocket } from '../../support/raw-http.ts';
import { until } from '../../support/until.ts';

const small = patternBytes(1024, 5);
const big = patternBytes(1_000_000, 6);
const GET = `GET /${CDN_HOST}/a.bin HTTP/1.1\r\nHost: h\r\n\r\n`;

async function start(
  options: Partial<Parameters<typeof startFronted>[1]> = {},
  limits: Partial<BytePathLimits> = {},
): Promise<{
  readonly cdn: Awaited<ReturnType<typeof startCdn>>;
  readonly fronted: FrontedServer;
}> {
  const cdn = await startCdn({ limits });
  await serveFiles(cdn, { 'a.bin': small, 'big.bin': big });
  return { cdn, fronted: await startFronted(cdn, { fast: true, ...options }) };
}

/** A client that keeps everything it receives. */
class Client {
  readonly socket: Socket;
  #received = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    socket.on('error', () => undefined);
  }

  get text(): string {
    return this.#received.toString('latin1');
  }

  /** Sends a request and reads its answer with `length` bytes of body. */
  async ask(request: string, length: number): Promise<{ readonly head: string; readonly body: Buffer }> {
    this.socket.write(request, 'latin1');
    let end = -1;
    await until(() => {
      end = this.#received.indexOf('\r\n\r\n');
      return end !== -1 && this.#received.length >= end + 4 + length;
    });
    const head = this.#received.toString('latin1', 0, end);
    const body = this.#received.subarray(end + 4, end + 4 + length);
    this.#received = this.#received.subarray(end + 4 + length);
    return { head, body };
  }
}

async function connect({ port }: FrontedServer): Promise<Client> {
  return new Client(await openSocket(port));
}

async function closeOf({ socket }: Client): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

test('a kept connection gets verified bytes repeatedly, and every answer is counted', async () => {
  const { cdn, fronted } = await start();
  const client = await connect(fronted);
  for (let round = 0; round < 5; round += 1) {
    const answer = await client.ask(GET, small.length);
    expect(answer.head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer.body.equals(small)).toBe(true);
  }
  const range = await client.ask(GET.replace('Host', 'Range: bytes=10-19\r\nHost'), 10);
  expect(range.head).toContain('Content-Range: bytes 10-19/1024');
  expect(range.body.equals(small.subarray(10, 20))).toBe(true);
  expect((await client.ask(GET.replace('a.bin', 'big.bin'), big.length)).body.equals(big)).toBe(true);
  await until(() => fronted.fast.length === 7);
  expect(fronted.fullRequests()).toBe(0);
  expect(await cdn.metric('slipway_cdn_responses_total')).toBe(7);
  expect(await cdn.metric('slipway_cdn_sent_bytes_total')).toBe(5 * 1024 + 10 + big.length);
  expect(await cdn.metric('slipway_cdn_ranges_total')).toBe(1);
  expect(fronted.fast.every(({ completed, bytes }) => completed && bytes > 0)).toBe(true);
  client.socket.destroy();
});

test('a cached body that the budget has no room for is sent in slices', async () => {
  const { cdn, fronted } = await start({}, { inFlightBytes: 1_500_000 });
  const ask = async (): Promise<Buffer> => {
    const client = await connect(fronted);
    const { body } = await client.ask(GET.replace('a.bin', 'big.bin'), big.length);
    client.socket.destroy();
    return body;
  };
  const misses = async (): Promise<number> => await cdn.metric('slipway_cdn_block_cache_misses_total');
  for (let round = 0; round < 3; round += 1) expect((await ask()).equals(big)).toBe(true);
  const hits = await cdn.metric('slipway_cdn_block_cache_hits_total');
  const missed = await misses();
  const { budget } = cdn.handler.parts;
  const granted = budget.take(1_000_000);
  expect((await ask()).equals(big)).toBe(true);
  expect(await cdn.metric('slipway_cdn_block_cache_hits_total')).toBeGreaterThan(hits + 10);
  expect(await misses()).toBe(missed);
  expect(fronted.fullRequests()).toBe(0);
  budget.giveBack(granted);
  await until(() => budget.used === 0);
});

test.each([
  ['a path other than a resource', GET.replace(`/${CDN_HOST}/a.bin`, '/healthz'), '404'],
  ['an Authorization field', GET.replace('Host', 'Authorization: Basic eDp5\r\nHost'), '200'],
  ['a cookie', GET.replace('Host', 'Cookie: a=b\r\nHost'), '200'],
  ['a token in the query', GET.replace('a.bin', 'a.bin?svc_token=x'), '200'],
  ['another method', GET.replace('GET', 'OPTIONS'), '204'],
  ['several ranges', GET.replace('Host', 'Range: bytes=0-1,4-5\r\nHost'), '206'],
  ['a precondition', GET.replace('Host', 'If-Match: *\r\nHost'), '200'],
])('a request with %s goes to the full server', async (_what, request, status) => {
  const { fronted } = await start();
  const client = await connect(fronted);
  expect((await client.ask(request, 0)).head).toContain(`HTTP/1.1 ${status} `);
  expect(fronted.fast).toEqual([]);
  expect(fronted.fastPath?.connections).toBe(0);
  client.socket.destroy();
});

test('damage turns fast answers into 503 immediately, on the same connection', async () => {
  const { cdn, fronted } = await start();
  const client = await connect(fronted);
  for (let round = 0; round < 4; round += 1) await client.ask(GET, small.length);
  const { release, entry } = cdn.handler.parts.selector.select(`/${CDN_HOST}/a.bin`);
  expect(cdn.serving.servable(release).ok).toBe(true);
  cdn.serving.reportDamage({
    destination: entry.destination,
    blake3: entry.blake3,
    kind: 'damaged',
    message: 'test',
  });
  expect((await client.ask(GET, 0)).head).toMatch(/^HTTP\/1\.1 503 /);
  expect(fronted.fullRequests()).toBe(1);
  client.socket.destroy();
});

test('bytes that are damaged on the volume are never sent', async () => {
  const cdn = await startCdn();
  const entry = await storeObject(cdn.root, 'a.bin', small);
  const other = await storeObject(cdn.root, 'a.bin', patternBytes(1024, 9));
  cdn.serving.serve([fakeRelease({ releaseId: 'r1', entries: [{ ...entry, blake3: other.blake3 }] })]);
  await writeFile(objectPath(cdn.root, other.blake3), small);
  const fronted = await startFronted(cdn, { fast: true });
  const client = await connect(fronted);
  expect((await client.ask(GET, 0)).head).toMatch(/^HTTP\/1\.1 503 /);
  expect(cdn.serving.reports.length).toBeGreaterThan(0);
  client.socket.destroy();
});

test('a verdict that is lost while the first bytes are read gives their budget back', async () => {
  const { cdn, fronted } = await start();
  let asked = 0;
  const servable = cdn.serving.servable.bind(cdn.serving);
  cdn.serving.servable = (release) => {
    asked += 1;
    return asked === 1 ? servable(release) : { ok: false, reason: 'AttestationExpired', message: 'just now' };
  };
  const client = await connect(fronted);
  expect((await client.ask(GET, 0)).head).toMatch(/^HTTP\/1\.1 503 /);
  expect([asked, fronted.fullRequests()]).toEqual([3, 1]);
  expect(cdn.handler.parts.budget.used).toBe(0);
  client.socket.destroy();
});

test('a release switch changes the next answer', async () => {
  const { cdn, fronted } = await start();
  const client = await connect(fronted);
  for (let round = 0; round < 4; round += 1) await client.ask(GET, small.length);
  const next = patternBytes(2000, 77);
  const entry = await storeObject(cdn.root, 'a.bin', next);
  cdn.serving.serve([fakeRelease({ releaseId: 'r2', entries: [entry] })]);
  const answer = await client.ask(GET, next.length);
  expect(answer.body.equals(next)).toBe(true);
  expect(answer.head).toContain(`ETag: "${entry.blake3}"`);
  expect(fronted.fullRequests()).toBe(0);
  client.socket.destroy();
});

test('pipelined requests after fast answers are answered in order', async () => {
  const { fronted } = await start();
  const client = await connect(fronted);
  await client.ask(GET, small.length);
  const answer = await client.ask(GET + GET.replace('a.bin', 'none.bin') + GET, small.length);
  expect(answer.body.equals(small)).toBe(true);
  await until(() => client.text.includes('404 Not Found') && client.text.includes('200 OK'));
  expect(client.text.indexOf('404')).toBeLessThan(client.text.indexOf('200 OK'));
  expect(fronted.fullRequests()).toBe(3);
  client.socket.destroy();
});

test('a silent connection, and one with half a head, are closed by the timer', async () => {
  const { fronted } = await start({ headersTimeoutMs: 60 });
  const silent = await connect(fronted);
  const slow = await connect(fronted);
  slow.socket.write('GET /');
  await Promise.all([closeOf(silent), closeOf(slow)]);
  expect(silent.text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n(?:.+\r\n)*connection: close\r\n/);
  expect(slow.text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  await until(() => fronted.fastPath?.connections === 0);
});

test('an idle kept connection is closed', async () => {
  const { fronted } = await start({ keepAliveTimeoutMs: 50 });
  const client = await connect(fronted);
  await client.ask(GET, small.length);
  await closeOf(client);
  expect(client.text).toBe('');
  await until(() => fronted.fastPath?.connections === 0);
});

test('a client that half-closes or disconnects leaves nothing behind', async () => {
  const { cdn, fronted } = await start();
  const half = await connect(fronted);
  await half.ask(GET, small.length);
  half.socket.end();
  await closeOf(half);
  for (let round = 0; round < 3; round += 1) {
    const gone = await openSocket(fronted.port);
    gone.write(GET.replace('a.bin', 'big.bin'));
    gone.resetAndDestroy();
  }
  await until(() => fronted.fastPath?.connections === 0);
  // A read in progress ends after the connection.
  await until(() => cdn.handler.parts.budget.used === 0);
  expect(cdn.handler.parts.drainWatch.watched).toBe(0);
});

test('a response that is cut counts its own bytes, not those of the previous response', async () => {
  const { fronted } = await start();
  const socket = await openSocket(fronted.port);
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(GET);
  await until(() => fronted.fast.length === 1);
  // Until the network accepts no more unread bytes.
  for (let isStalled = false; !isStalled;) {
    const before = fronted.fast.length;
    socket.write(`GET /${CDN_HOST}/big.bin HTTP/1.1\r\nHost: h\r\n\r\n`);
    isStalled = await until(() => fronted.fast.length > before, 300).then(
      () => false,
      () => true,
    );
  }
  socket.destroy();
  await until(() => fronted.fast.at(-1)?.completed === false);
  expect(fronted.fast.at(-1)?.bytes).toBe(fronted.fast[1]?.bytes);
});

test('a server that retires says so in its next response on each connection, and loses no request', async () => {
  const { fronted } = await start();
  const kept = await connect(fronted);
  expect((await kept.ask(GET, small.length)).head).toMatch(/^Connection: keep-alive$/m);
  const silent = await connect(fronted);
  await until(() => fronted.fastPath?.connections === 2);
  fronted.listening.retire();
  for (const client of [kept, silent, await connect(fronted)]) {
    const { head, body } = await client.ask(GET, small.length);
    expect(head).toMatch(/^Connection: close$/m);
    expect(body.equals(small)).toBe(true);
    await closeOf(client);
  }
  expect(fronted.fullRequests()).toBe(3);
  expect(fronted.fastPath?.connections).toBe(0);
});

test('a closing server closes idle and silent connections', async () => {
  const { fronted } = await start();
  const idle = await connect(fronted);
  await idle.ask(GET, small.length);
  const silent = await connect(fronted);
  await until(() => fronted.fastPath?.connections === 2);
  await Promise.all([fronted.listening.close(), closeOf(idle), closeOf(silent)]);
  expect([idle.text, silent.text]).toEqual(['', '']);
  await until(() => fronted.fastPath?.connections === 0);
});

test('a request that follows a response which ended while the server was closing is answered', async () => {
  const { cdn, fronted } = await start({ quietMs: 30_000 });
  // More than the system buffers for a client that does not read.
  const huge = patternBytes(20_000_000, 7);
  await serveFiles(cdn, { 'a.bin': small, 'huge.bin': huge });
  const client = await HttpConnection.open(fronted.port);
  client.socket.pause();
  client.send(GET.replace('a.bin', 'huge.bin'));
  await until(() => cdn.handler.parts.drainWatch.watched === 1);
  const closed = fronted.listening.close();
  client.socket.resume();
  const first = await client.answer();
  expect(first.headers['connection']).toBe('keep-alive');
  expect(first.body.equals(huge)).toBe(true);
  client.send(GET);
  const next = await client.answer();
  expect(next.headers['connection']).toBe('close');
  expect(next.body.equals(small)).toBe(true);
  await Promise.all([client.closed(), closed]);
});
