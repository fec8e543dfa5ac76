import { Agent, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';

/** One request to the daemon. */
export interface LoopbackRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whole body; without it none is sent. */
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/** Connections to one loopback address, for one kind of request. */
export interface LoopbackConnections {
  /**
   * Sends a request and resolves with the head of the answer.
   *
   * @throws the error of the connection; an `AbortError` when the signal is aborted
   */
  send(call: LoopbackRequest): Promise<IncomingMessage>;
  /** Closes them all; what is under way fails. */
  close(): void;
}

/** What {@link openLoopbackConnections} needs. */
export interface LoopbackOptions {
  /** Origin, such as `http://127.0.0.1:8091`. */
  readonly url: string;
  /** Unix socket to use instead of the URL's host. */
  readonly socketPath: string | undefined;
  /** Most connections at a time; further requests wait. */
  readonly connections: number;
  /** Keeps idle connections for the next request. */
  readonly keepAlive: boolean;
}

/** Largest head of an answer, bytes. */
const MAX_HEAD_BYTES = 16 * 1024;

/** Prepares connections to a loopback address; none is opened before the first request. */
export function openLoopbackConnections(options: LoopbackOptions): LoopbackConnections {
  const { hostname, port } = new URL(options.url);
  const agent = new Agent({ keepAlive: options.keepAlive, maxSockets: options.connections });
  const attempt = async (
    call: LoopbackRequest,
  ): Promise<{ readonly answer: IncomingMessage } | { readonly stale: true }> => {
    const outgoing = request({
      agent,
      method: call.method,
      path: call.path,
      headers: call.headers,
      signal: call.signal,
      maxHeaderSize: MAX_HEAD_BYTES,
      ...(options.socketPath === undefined
        ? { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? 80 : Number(port) }
        : { socketPath: options.socketPath }),
    });
    // Past the head, the answer itself reports what goes wrong.
    outgoing.on('error', () => undefined);
    outgoing.end(call.body);
    try {
      const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
      return { answer };
    } catch (error) {
      if (outgoing.reusedSocket && isReset(error) && !call.signal.aborted) return { stale: true };
      throw error;
    }
  };

  return {
    send: async (call) => {
      // A kept connection may be closed by the daemon at the very moment it is used again. Each such failure takes one
      // kept connection away, so this ends, at the latest with a fresh one.
      for (;;) {
        const outcome = await attempt(call);
        if ('answer' in outcome) return outcome.answer;
      }
    },
    close: () => {
      agent.destroy();
    },
  };
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}
