import { once } from 'node:events';
import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

/** Below the ephemeral range of Linux (32768 to 60999), from which the connections of other tests take their ports. */
const RANGE = [10_000, 32_000] as const;

/**
 * Finds loopback ports that are free now and that no outgoing connection takes later.
 *
 * @param count how many ports; all are different
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(...RANGE);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
