import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createMirrorHttp } from '../../../../src/cli/verify/mirror/mirror-http.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';

/** Reads the first 100 bytes of an answer, and what comes after a time. @returns how many bytes came then */
async function readOn(elapsedMs: number, rest: Buffer): Promise<number> {
  let now = 5;
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    responses.push(response);
    response.write(Buffer.alloc(100));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = createMirrorHttp(1, null, { ...systemClock, monotonic: () => now });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  const answer = await http.send({ method: 'GET', url, accept: [200] }, new AbortController().signal);
  const chunks = answer.chunks()[Symbol.asyncIterator]();
  expect((await chunks.next()).value).toHaveLength(100);
  const waiting = chunks.next();
  now += elapsedMs;
  responses[0]?.end(rest);
  const next = await waiting;
  return next.done === true ? 0 : next.value.length;
}

it('gives an answer up that comes with fewer than 1,024 bytes a second after a minute', async () => {
  await expect(readOn(61_000, Buffer.alloc(1))).rejects.toMatchObject({
    message: expect.stringMatching(/\/file sends fewer than 1024 bytes a second$/),
    isFinal: true,
  });
});

it('says in words that a server did not answer', async () => {
  const server = createServer(() => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = createMirrorHttp(1, null, systemClock, 100);
  onTestFinished(async () => {
    await http.close();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  await expect(
    http.send({ method: 'GET', url, accept: [200] }, new AbortController().signal),
  ).rejects.toMatchObject({ message: `${url}: no answer within 0.1 s` });
});

it('takes an answer that is slow for less than a minute, or that has come whole', async () => {
  expect(await readOn(59_000, Buffer.alloc(1))).toBe(1);
  expect(await readOn(61_000, Buffer.alloc(0))).toBe(0);
});
