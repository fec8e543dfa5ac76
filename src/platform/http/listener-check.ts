import { request, type RequestOptions } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import process from 'node:process';
import { errorCode } from '../files/error-code.ts';
import { plainAddress } from './networks.ts';

/**
 * The address from which a program checks its own listener. Only this machine can use it, so that such a connection is
 * known as a check before its first byte. Only Linux has the whole network 127.0.0.0/8.
 */
export const CHECK_ADDRESS = process.platform === 'linux' ? '127.0.83.87' : null;

/**
 * The ports from which a program checks a listener on an IPv6 address. IPv6 has one loopback address only, which others
 * on this machine also use. They get ports of the ephemeral range, which is above these. Source: ip(7),
 * ip_local_port_range.
 */
const CHECK_PORTS = [18_387, 18_388, 18_389, 18_390, 18_391, 18_392, 18_393, 18_394] as const;

/** Whether a connection is a check of this machine. Known before its first byte. */
export function isListenerCheck(socket: Socket): boolean {
  const { remoteAddress = '', remotePort, localAddress } = socket;
  if (CHECK_ADDRESS !== null && plainAddress(remoteAddress) === CHECK_ADDRESS) return true;
  // Only this machine connects from the address to which it connects.
  const isLocal = isIPv6(remoteAddress) && remoteAddress === localAddress;
  return isLocal && CHECK_PORTS.some((port) => port === remotePort);
}

const MAX_BYTES = 64 * 1024;

interface CheckAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

interface ListenerCheckOptions {
  readonly url: () => string | null;
  /** Milliseconds for the whole answer. */
  readonly deadlineMs: number;
  /** Milliseconds that an answer is used for further checks. */
  readonly reuseMs: number;
}

type ListenerCheck = (path: string) => Promise<CheckAnswer>;

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
  let checks = 0;
  const send = async (base: URL, path: string): Promise<CheckAnswer> => {
    const signal = AbortSignal.timeout(deadlineMs);
    for (const _port of CHECK_PORTS) {
      checks += 1;
      try {
        return await ask(base, path, { signal, ...sourceOf(base, checks) });
      } catch (error) {
        const code = error instanceof ListenerCheckError ? errorCode(error.cause) : null;
        if (code !== 'EADDRINUSE' && code !== 'EADDRNOTAVAIL') throw error;
      }
    }
    return await ask(base, path, { signal });
  };
  return async (path) => {
    const known = recent.get(path);
    if (known !== undefined && performance.now() < known.until) return await known.answer;
    const base = url();
    const answer =
      base === null
        ? Promise.reject(new ListenerCheckError('the server does not listen yet'))
        : send(loopbackOf(base), path);
    recent.set(path, { answer, until: performance.now() + reuseMs });
    return await answer;
  };
}

function loopbackOf(url: string): URL {
  const base = new URL(url);
  if (base.hostname === '0.0.0.0' || base.hostname === '[::]') base.hostname = '127.0.0.1';
  return base;
}

/** Where a check comes from, by which {@link isListenerCheck} knows it. */
function sourceOf(base: URL, check: number): RequestOptions {
  if (!base.hostname.startsWith('[')) return CHECK_ADDRESS === null ? {} : { localAddress: CHECK_ADDRESS };
  return { localPort: CHECK_PORTS[check % CHECK_PORTS.length] };
}

async function ask(base: URL, path: string, options: RequestOptions): Promise<CheckAnswer> {
  return await new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(new ListenerCheckError(`${new URL(path, base).href} did not answer`, error));
    };
    const sent = request(new URL(path, base), { agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > MAX_BYTES) sent.destroy(new Error('the answer is too long'));
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
    });
    sent.on('error', fail);
    sent.end();
  });
}
