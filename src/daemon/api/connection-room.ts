import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The connections of a server, with a limit. */
export interface ConnectionRoom {
  /** Marks the connection of a caller that sent the token: it never gives way to others. */
  readonly keep: (socket: Socket) => void;
}

/**
 * Limits the connections of a server. At the limit, the oldest connection whose caller has not sent the token is closed
 * for a new one, so that no other process of the machine can use up the connections of the callers that have it.
 *
 * @param max number of open connections
 */
export function limitConnections(server: Server, max: number): ConnectionRoom {
  const kept = new Set<Socket>();
  // In the order of their arrival.
  const unauthenticated = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unauthenticated.add(socket);
    socket.once('close', () => {
      kept.delete(socket);
      unauthenticated.delete(socket);
    });
    if (kept.size + unauthenticated.size <= max) return;
    const [oldest = socket] = unauthenticated;
    unauthenticated.delete(oldest);
    oldest.destroy();
  });
  return {
    keep: (socket) => {
      if (unauthenticated.delete(socket)) kept.add(socket);
    },
  };
}
