import { request } from 'node:http';
import process from 'node:process';

/**
 * The address from which a program checks its own listener. Only this machine can use it, so that such a connection is
 * known as a check before its first byte. Only Linux has the whole network 127.0.0.0/8.
 */
export const CHECK_ADDRESS = process.platform === 'linux' ? '127.0.83.87' : null;

/** Maximum size of an answer, bytes; anything longer is not the answer to a check. */
const MOST_BYTES = 64 * 1024;

/** The answer of the listener. */
export interface CheckAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface ListenerCheckOptions {
  /** Base URL of the listener; `null` while it does not listen. */
  readonly url: () => string | null;
  /** Milliseconds for the whole answer. */
  readonly deadlineMs: number;
  /** Milliseconds that an answer is used for further checks. */
  readonly reuseMs: number;
}

/** Asks a listener of this machine for a path. */
export type ListenerCheck = (path: string) => Promise<CheckAnswer>;

/** The listener did not answer; the message says why. */
export class ListenerCheckError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ListenerCheckError';
  }
}

/**
 * Makes a check that sends a real request over loopback: an answer proves that the listener accepts connections and
 * answers. Checks of one path share a request, and its answer for a short time.
 *
 * @throws ListenerCheckError from the check
 */
export function createListenerCheck({ url, deadlineMs, reuseMs }: ListenerCheckOptions): ListenerCheck {
  const recent = new Map<string, { readonly answer: Promise<CheckAnswer>; readonly until: number }>();
  return async (path) => {
    const known = recent.get(path);
    if (known !== undefined && performance.now() < known.until) return await known.answer;
    const base = url();
    const answer =
      base === null
        ? Promise.reject(new ListenerCheckError('the server does not listen yet'))
        : ask(loopbackOf(base), path, deadlineMs);
    recent.set(path, { answer, until: performance.now() + reuseMs });
    return await answer;
  };
}

/** The loopback address for a server that listens on every address. */
function loopbackOf(url: string): URL {
  const base = new URL(url);
  if (base.hostname === '0.0.0.0' || base.hostname === '[::]') base.hostname = '127.0.0.1';
  return base;
}

async function ask(base: URL, path: string, deadlineMs: number): Promise<CheckAnswer> {
  return await new Promise((resolve, reject) => {
    const isIPv4 = !base.hostname.startsWith('[');
    const fail = (error: unknown): void => {
      reject(new ListenerCheckError(`${new URL(path, base).href} did not answer`, error));
    };
    const sent = request(
      new URL(path, base),
      {
        agent: false,
        signal: AbortSignal.timeout(deadlineMs),
        ...(CHECK_ADDRESS !== null && isIPv4 ? { localAddress: CHECK_ADDRESS } : {}),
      },
      (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          if (length > MOST_BYTES) sent.destroy(new Error('the answer is too long'));
          else chunks.push(chunk);
        });
        response.on('error', fail);
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            contentType: response.headers['content-type'] ?? 'text/plain',
            body: Buffer.concat(chunks).toString('utf8'),
          });
        });
      },
    );
    sent.on('error', fail);
    sent.end();
  });
}
