import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { renderWelcome } from '../../../../src/cli/dev/welcome.ts';

it('proposes no report of a parse where the texts of no release are parsed', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"items":[{"destination":"a"}]}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  const welcome = async (isCopy: boolean): Promise<string> =>
    await renderWelcome({
      serverUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      releaseId: 'r1',
      cdnHost: 'cdn.example.org',
      tokenFile: 'admin.token',
      snapshotRoot: 'snapshot',
      publicKeyFile: 'signing.pub',
      programDirectory: '.',
      isCopy,
      demo: null,
    });
  expect(await welcome(false)).toContain('report parse.status');
  const edge = await welcome(true);
  expect(edge).toContain('run sync --wait');
  expect(edge).not.toContain('parse.');
});
