import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { parse } from 'yaml';
import type { AtEnd } from './shared-fixture.ts';
import type { TestSystem } from './system.ts';

/**
 * Puts a server of the test's own where the system's daemon listened; the daemon must have been killed before.
 *
 * @returns ends it, so that the daemon can start again; the end of the test does so too
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
