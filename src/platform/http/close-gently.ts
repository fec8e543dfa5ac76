import type { Socket } from 'node:net';

interface LingerLimits {
  /** Time without a byte from the client. */
  readonly silentMs: number;
  readonly totalMs: number;
}

/** The limits after a last response; nginx has the same (`lingering_timeout`, `lingering_time`). */
const LINGER: LingerLimits = { silentMs: 5_000, totalMs: 30_000 };

const drop = (): void => undefined;

/**
 * Closes a connection in a way that the client gets everything that was sent: the server ends its own side, then reads and
 * drops bytes until the client ends its side or a limit is reached. If a socket is closed while bytes of the client are
 * unread, the system sends a reset, and the client loses the end of the response.
 *
 * Source: RFC 9112, section 9.6.
 */
export function closeGently(socket: Socket, { silentMs, totalMs }: LingerLimits = LINGER): void {
  if (socket.destroyed) return;
  const destroy = (): void => {
    socket.destroy();
  };
  // A new listener for data also takes the socket from the parser of node:http.
  socket.removeAllListeners('data');
  socket.on('data', drop);
  socket.removeAllListeners('timeout');
  socket.setTimeout(silentMs, destroy);
  const limit = setTimeout(destroy, totalMs);
  limit.unref();
  socket.once('close', () => {
    clearTimeout(limit);
  });
  if (!socket.writableEnded) socket.end();
  socket.resume();
}
