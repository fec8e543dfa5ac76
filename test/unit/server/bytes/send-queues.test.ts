import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import process from 'node:process';
import { expect, onTestFinished, test } from 'vitest';
import { readSendQueues } from '../../../../src/server/bytes/send-queues.ts';
import { until } from '../../../support/until.ts';

test.skipIf(process.platform !== 'linux').each([
  ['127.0.0.1', '127.0.0.1'],
  ['::', '127.0.0.1'],
  ['::1', '::1'],
])('a listener on %s sees what a client at %s has not acknowledged', async (host, address) => {
  const server = createServer();
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, address);
  client.pause();
  const [socket] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  expect(readSendQueues()(socket)).toBe(0);
  socket.write(Buffer.alloc(32 * 1024 * 1024));
  await until(() => (readSendQueues()(socket) ?? 0) > 100_000);
  client.resume();
  await until(() => readSendQueues()(socket) === 0);
});
