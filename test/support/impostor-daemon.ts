import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { parse } from 'yaml';
import type { AtEnd } from './shared-fixture.ts';
import type { TestSystem } from './system.ts';

/**
 * Starts a test's server on the port of the system's daemon. The daemon must have been killed before.
 *
 * @returns a function that stops it, so that the daemon can start again; the end of the test does so too
 */
export async function startImpostorDaemon(
  system: TestSystem,
  listener: RequestListener,
  atEnd: AtEnd = onTestFinished,
): Promise<() => Promise<void>> {
  const { listen } = parse(await readFile(system.daemonConfiguration, 'utf8')) as {
    listen: { port: number };
  };
  const server = createServer(listener);
  server.listen(listen.port, '127.0.0.1');
  await once(server, 'listening');
  const closed = once(server, 'close');
  const end = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await closed;
  };
  atEnd(end);
  return end;
}
