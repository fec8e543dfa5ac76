import { once } from 'node:events';
import { chmod, lstat, rm } from 'node:fs/promises';
import type { Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { answerClientErrors } from './client-error.ts';
import { messageOf } from '../errors.ts';
import { errorCode } from '../files/error-code.ts';

/** Where to listen: TCP, or a Unix domain socket. */
export type ListenAddress =
  | { readonly host: string; readonly port: number }
  | { readonly socketPath: string };

/** A server that accepts connections. */
export interface Listening {
  /** Base URL without trailing slash, or `unix:PATH`. */
  readonly url: string;
  /** The TCP port, `null` for a Unix domain socket. */
  readonly port: number | null;
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

/** The owner and the group of the volume may connect. */
const SOCKET_MODE = 0o660;

/**
 * Starts listening, and answers malformed requests; see {@link answerClientErrors}.
 *
 * @param server not listening yet
 * @throws ListenError when the address is taken, not allowed or not of this machine
 */
export async function listen(server: Server, address: ListenAddress): Promise<Listening> {
  if ('socketPath' in address) await removeStaleSocket(address.socketPath);
  const { drain, isAnswering } = trackRequests(server);
  answerClientErrors(server, isAnswering);
  try {
    const listening = once(server, 'listening');
    if ('socketPath' in address) server.listen({ path: address.socketPath });
    else server.listen({ host: address.host, port: address.port });
    await listening;
  } catch (error) {
    throw new ListenError(explain(error, address), error);
  }
  if ('socketPath' in address) await chmod(address.socketPath, SOCKET_MODE);
  let closed: Promise<void> | null = null;
  return {
    ...describeAddress(server, address),
    close: async (signal) => {
      closed ??= new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        drain();
      });
      const cut = (): void => {
        server.closeAllConnections();
      };
      if (signal?.aborted === true) cut();
      signal?.addEventListener('abort', cut, { once: true });
      await closed;
      signal?.removeEventListener('abort', cut);
    },
  };
}

/** Knows the answers that are not sent yet, so that a closing server ends each connection with its last one. */
function trackRequests(server: Server): {
  readonly drain: () => void;
  readonly isAnswering: (socket: Duplex) => boolean;
} {
  const open = new Set<ServerResponse>();
  let closing = false;
  const closeIdle = server.closeIdleConnections.bind(server);
  // For Node a connection is idle as soon as its answer was ended, though the client has not got the last of it: that
  // would be cut. Every such answer comes by here again when it is sent.
  server.closeIdleConnections = () => {
    if (![...open].some(isBeingSent)) closeIdle();
  };
  const sayGoodbye = (response: ServerResponse): void => {
    if (!response.headersSent) response.setHeader('Connection', 'close');
  };
  server.prependListener('request', (_request, response: ServerResponse) => {
    open.add(response);
    if (closing) sayGoodbye(response);
    response.once('close', () => {
      open.delete(response);
      // An answer whose head had gone out before closing began leaves an idle connection behind.
      if (closing) setImmediate(() => server.closeIdleConnections());
    });
  });
  return {
    drain: () => {
      closing = true;
      for (const response of open) sayGoodbye(response);
      server.closeIdleConnections();
    },
    isAnswering: (socket) => {
      // Asked for malformed messages only, which are not worth a record of every request by its connection.
      for (const response of open) {
        if (response.socket === socket && response.headersSent && !response.writableEnded) return true;
      }
      return false;
    },
  };
}

/** Whether an answer is complete, and not all of it taken by the network. */
function isBeingSent(response: ServerResponse): boolean {
  return response.writableEnded && !response.writableFinished;
}

function describeAddress(
  server: Server,
  address: ListenAddress,
): { readonly url: string; readonly port: number | null } {
  if ('socketPath' in address) return { url: `unix:${address.socketPath}`, port: null };
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the server has no TCP address');
  const host = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return { url: `http://${host}:${bound.port}`, port: bound.port };
}

/** Removes a socket file that a killed process left behind; one that answers is kept, and listening then fails. */
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
  const where = 'socketPath' in address ? address.socketPath : `${address.host}:${address.port}`;
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
