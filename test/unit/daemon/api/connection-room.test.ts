import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startTestApi, stubReports } from '../../../support/daemon-api.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const TOKEN = 'the-token-of-the-pair';

it('keeps room for callers with the token, however many connections others open', async () => {
  const tokenFile = join(await temporaryDirectory(), 'token');
  await writeFile(tokenFile, TOKEN);
  const api = await startTestApi({
    tokenFile: () => tokenFile,
    reports: stubReports({ 'release.list': () => ({}) }),
  });
  const port = api.listening.port ?? 0;
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const others: Socket[] = [];
  onTestFinished(() => {
    kept.destroy();
    for (const socket of others) socket.destroy();
  });
  const ask = async (agent: Agent | false): Promise<IncomingMessage> => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const sent = request({ host: '127.0.0.1', port, path: '/v1/reports/release.list', headers, agent });
    const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    return answer;
  };
  const { socket } = await ask(kept);
  let closed = 0;
  for (let count = 0; count < 400; count += 1) {
    const other = connect(port, '127.0.0.1');
    other.on('error', () => undefined);
    other.on('close', () => {
      closed += 1;
    });
    await once(other, 'connect');
    // Half a head, as of a client that is slow on purpose.
    other.write('GET /v1/reports/release.list HTTP/1.1\r\nhost: localhost\r\n');
    others.push(other);
  }
  await until(() => closed === 400 - 255);
  const again = await ask(kept);
  expect([again.statusCode, again.socket]).toEqual([200, socket]);
  expect((await ask(false)).statusCode).toBe(200);
  expect(closed).toBeLessThan(160);
});
