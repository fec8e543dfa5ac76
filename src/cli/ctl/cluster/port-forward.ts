import { createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { PortForward as Forwarder, type KubeConfig } from '@kubernetes/client-node';
import type { PodPort } from './forward-target.ts';

/** A port of this machine that leads to a pod until it is closed. */
export interface PortForward {
  readonly url: URL;
  /** Why the last connection to the pod failed, or `null`. */
  failure(): string | null;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 30_000;
const FAILURE_MAX = 2_000;

/**
 * Listens on a free loopback port, and forwards each connection to a pod through the API server.
 *
 * Source: Kubernetes API reference, "portforward" of a Pod; WebSocket channels 0 (data) and 1 (errors).
 */
export async function forwardPort(
  config: KubeConfig,
  namespace: string,
  { pod, port }: PodPort,
): Promise<PortForward> {
  const forwarder = new Forwarder(config);
  const sockets = new Set<Socket>();
  let failure: string | null = null;

  const connect = async (socket: Socket): Promise<void> => {
    const fail = (reason: string): void => {
      failure = reason.slice(0, FAILURE_MAX);
      socket.destroy();
    };
    const errors = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (chunk.length > 0) fail(chunk.toString('utf8').trim());
        done();
      },
    });
    const timer = setTimeout(() => {
      fail(`no connection to pod ${pod} within ${CONNECT_TIMEOUT_MS / 1000} s`);
    }, CONNECT_TIMEOUT_MS);
    try {
      const opened = await forwarder.portForward(namespace, pod, [port], socket, errors, socket);
      const channel = typeof opened === 'function' ? opened() : opened;
      if (channel === null) return;
      channel.onclose = () => socket.end();
      socket.once('close', () => channel.close());
      if (socket.destroyed) channel.close();
    } catch (error) {
      fail(describe(error));
    } finally {
      clearTimeout(timer);
    }
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // The HTTP client that connected here reports the broken connection.
    socket.on('error', () => undefined);
    void connect(socket);
  });
  const listening = once(server, 'listening');
  server.listen({ host: '127.0.0.1', port: 0 });
  await listening;
  const { port: local } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${local}`),
    failure: () => failure,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** The library fails with an error, or with an event that holds one. */
function describe(error: unknown): string {
  const { message } = error as { readonly message?: unknown };
  return typeof message === 'string' && message !== '' ? message : 'the API server closed the connection';
}
