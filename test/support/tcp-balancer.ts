import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { AtEnd } from './shared-fixture.ts';

/** Passes connections on, as a Service of Kubernetes does. */
export interface TcpBalancer {
  readonly port: number;
  /** Sets the ports of this machine that get the next connections, in turn. Open connections stay where they are. */
  setTargets(ports: readonly number[]): void;
}

/** Starts a balancer of connections. It knows nothing of HTTP, and passes on every end and reset. */
export async function startTcpBalancer(atEnd: AtEnd): Promise<TcpBalancer> {
  let targets: readonly number[] = [];
  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    turn += 1;
    const target = connect({
      host: '127.0.0.1',
      port: targets[turn % targets.length] ?? 0,
      allowHalfOpen: true,
      noDelay: true,
    });
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.resetAndDestroy());
      from.once('close', () => sockets.delete(from));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return {
    port: (server.address() as AddressInfo).port,
    setTargets: (ports) => {
      targets = ports;
    },
  };
}
