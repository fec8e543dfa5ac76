import { once } from 'node:events';
import { chmod, lstat, rm } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { answerClientErrors, type AnswerProgress } from './client-error.ts';
import { Connections } from './connections.ts';
import { messageOf } from '../errors.ts';
import { errorCode } from '../files/error-code.ts';
import { urlHost } from './networks.ts';

/** Where to listen: TCP, or a Unix domain socket. */
export type ListenAddress =
  | { readonly host: string; readonly port: number }
  | { readonly socketPath: string };

export interface Listening {
  /** Base URL without trailing slash, or `unix:PATH`. */
  readonly url: string;
  readonly port: number | null;
  /** From now on every response says `Connection: close`; the server still accepts connections. */
  retire(): void;
  /**
   * Stops accepting, closes idle connections, and lets requests in flight finish with `Connection: close`. Further calls
   * share the first one's end.
   *
   * @param signal when aborted, connections still open are cut
   */
  close(signal?: AbortSignal): Promise<void>;
}

/** The address cannot be listened on; the message says what to do. */
export class ListenError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'ListenError';
  }
}

/**
 * The default of listeners that others reach: every address of IPv6 and IPv4, and of IPv4 alone where the system has no IPv6.
 * Loopback listeners stay on IPv4, which also a pod with nothing but IPv6 has on loopback.
 */
export const EVERY_ADDRESS = '::';

/** The owner and the group of the volume may connect. */
const SOCKET_MODE = 0o660;

/**
 * Starts listening, limits the connections, and answers malformed requests; see {@link answerClientErrors}.
 *
 * @param server not listening yet, with its listeners for connections
 * @param connections default: without limits
 * @throws ListenError when the address is taken, not allowed or not of this machine
 */
export async function listen(
  server: Server,
  address: ListenAddress,
  connections: Connections = new Connections(),
): Promise<Listening> {
  if ('socketPath' in address) await removeStaleSocket(address.socketPath);
  admitConnections(server, connections);
  const { retire, progressOf } = trackRequests(server, connections);
  answerClientErrors(server, progressOf);
  try {
    const listening = once(server, 'listening');
    if ('socketPath' in address) server.listen({ path: address.socketPath });
    // Without a host, Node tries both families.
    else if (address.host === EVERY_ADDRESS) server.listen({ port: address.port });
    else server.listen({ host: address.host, port: address.port });
    await listening;
  } catch (error) {
    throw new ListenError(explain(error, address), error);
  }
  if ('socketPath' in address) await chmod(address.socketPath, SOCKET_MODE);
  const stop = async (): Promise<void> => {
    retire();
    // Requests that have arrived already are read first.
    await nextTurn();
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
      connections.closeIdle();
    });
  };
  let closed: Promise<void> | null = null;
  return {
    ...describeAddress(server, address),
    retire,
    close: async (signal) => {
      closed ??= stop();
      const cut = (): void => {
        connections.cut();
      };
      if (signal?.aborted === true) cut();
      signal?.addEventListener('abort', cut, { once: true });
      await closed;
      signal?.removeEventListener('abort', cut);
    },
  };
}

function admitConnections(server: Server, connections: Connections): void {
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (connections.admit(socket) === null) return;
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  });
  // Node would also close connections whose response was ended but not yet sent.
  server.closeIdleConnections = () => undefined;
}

/** Reports responses to the connections, and has each say `Connection: close` while the server retires. */
function trackRequests(server: Server, connections: Connections) {
  const open = new Set<ServerResponse>();
  const announceClose = (response: ServerResponse): void => {
    if (!response.headersSent) response.setHeader('Connection', 'close');
  };
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    open.add(response);
    const connection = connections.of(socket);
    if (connection !== undefined) connections.begin(connection);
    if (connections.retired) announceClose(response);
    response.once('close', () => {
      open.delete(response);
      if (connection === undefined) return;
      connection.answeredEarly = request.complete ? null : request;
      connections.end(connection);
    });
  });
  return {
    retire: () => {
      connections.retire();
      for (const response of open) announceClose(response);
    },
    progressOf: (socket: Duplex): AnswerProgress => {
      // Only malformed messages need this, so a search costs less than a record for each request.
      for (const response of open) {
        if (response.socket !== socket || !response.headersSent) continue;
        if (!response.writableEnded) return 'sending';
        if (!response.req.complete) return 'sent';
      }
      return connections.of(socket as Socket)?.answeredEarly?.complete === false ? 'sent' : 'none';
    },
  };
}

function describeAddress(
  server: Server,
  address: ListenAddress,
): { readonly url: string; readonly port: number | null } {
  if ('socketPath' in address) return { url: `unix:${address.socketPath}`, port: null };
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the server has no TCP address');
  return { url: `http://${urlHost(bound.address)}:${bound.port}`, port: bound.port };
}

async function removeStaleSocket(path: string): Promise<void> {
  const stat = await lstat(path).catch(() => null);
  if (stat === null || !stat.isSocket()) return;
  const socket = connect({ path });
  const answers = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  if (!answers) await rm(path, { force: true });
}

function explain(error: unknown, address: ListenAddress): string {
  const where = 'socketPath' in address ? address.socketPath : `${urlHost(address.host)}:${address.port}`;
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return `cannot listen on ${where}: another process already uses it; stop that process or configure another address`;
    case 'EACCES':
    case 'EPERM':
    case 'ENOENT':
      // libuv reports a missing folder of a socket as EACCES.
      return 'socketPath' in address
        ? `cannot listen on ${where}: its folder does not exist or is not writable; create it or configure another path`
        : `cannot listen on ${where}: not permitted; choose a port of 1024 or higher`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `cannot listen on ${where}: this machine does not have this address; configure one of its addresses`;
    default:
      return `cannot listen on ${where}: ${messageOf(error)}`;
  }
}
