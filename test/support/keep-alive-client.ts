import { setTimeout as delay } from 'node:timers/promises';
import { HttpConnection, renderRequest } from './http-connection.ts';

/** The results of the clients. */
export interface ClientCounts {
  requests: number;
  /** Requests without a complete and right response. */
  lost: string[];
  connections: number;
  /** Responses that said `Connection: close`. */
  goodbyes: number;
}

export interface KeepAliveClientOptions {
  readonly port: number;
  readonly target: string;
  readonly body: Buffer;
  /** Milliseconds before the next request on the same connection. */
  readonly think: () => number;
  /** Whether the client sends another request. */
  readonly wantsMore: () => boolean;
  readonly counts: ClientCounts;
}

/**
 * Sends one request after the other and keeps its connection for as long as the server does. It never sends a request
 * twice: each request without a response is lost.
 */
export async function runKeepAliveClient(options: KeepAliveClientOptions): Promise<void> {
  const { port, target, body, think, wantsMore, counts } = options;
  const request = renderRequest('GET', target);
  let connection: HttpConnection | null = null;
  while (wantsMore()) {
    if (connection === null || connection.socket.readableEnded || connection.socket.destroyed) {
      connection = await HttpConnection.open(port);
      counts.connections += 1;
    }
    counts.requests += 1;
    connection.send(request);
    const answer = await connection.answer();
    if (answer.wasCut || answer.status !== 200 || !answer.body.equals(body)) {
      counts.lost.push(`${answer.wasCut ? 'cut' : 'answered'} ${answer.statusLine}`);
    }
    const isLast = answer.wasCut || answer.headers['connection'] === 'close';
    if (isLast) {
      if (!answer.wasCut) counts.goodbyes += 1;
      connection.destroy();
      connection = null;
    }
    const pause = think();
    if (pause > 0) await delay(pause);
  }
  connection?.destroy();
}
