import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { parse } from 'yaml';
import type { TestSystem } from './system.ts';

/** Puts a server of the test's own where the system's daemon listened; the daemon must have been killed before. */
export async function startImpostorDaemon(system: TestSystem, listener: RequestListener): Promise<void> {
  const { listen } = parse(await readFile(system.daemonConfiguration, 'utf8')) as {
    listen: { port: number };
  };
  const server = createServer(listener);
  server.listen(listen.port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
}
