import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { createMirrorHttp } from '../../../../src/cli/verify/mirror/mirror-http.ts';

/** Reads an answer of a number of bytes, for which the server takes a time. @returns how many bytes came */
async function read(bytes: number, elapsedMs: number): Promise<number> {
  let now = 5;
  const server = createServer((_request, response) => {
    now += elapsedMs;
    response.end(Buffer.alloc(bytes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = createMirrorHttp(1, null, { monotonic: () => now });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  const answer = await http.send({ method: 'GET', url, accept: [200] }, new AbortController().signal);
  return (await buffer(answer.chunks())).length;
}

it('gives an answer up that comes with fewer than 1,024 bytes a second after a minute', async () => {
  await expect(read(100, 61_000)).rejects.toThrow(/\/file sent 100 bytes in 61 s, fewer than 1024 a second$/);
  expect(await read(100, 59_000)).toBe(100);
});
