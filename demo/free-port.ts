import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { errorCode } from '../src/platform/files/error-code.ts';

/** Asks the system for `count` loopback ports that are free now, all different. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(
    servers.map(async (server) => {
      server.close();
      await once(server, 'close');
    }),
  );
  return ports;
}

/** Whether another process listens on a loopback port. Other obstacles are left to the process that is to listen. */
export async function isPortBusy(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    return errorCode(error) === 'EADDRINUSE';
  }
  server.close();
  await once(server, 'close');
  return false;
}
