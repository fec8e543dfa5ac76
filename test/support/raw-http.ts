import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One answer as received. */
export interface RawAnswer {
  readonly status: number;
  readonly statusLine: string;
  /** Status line and fields as received, without the empty line. */
  readonly head: string;
  /** Lower-case names; a repeated field fails. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether the connection was cut instead of ended. */
  readonly wasCut: boolean;
}

/** Opens a connection to a port of this machine. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes as they are and reads until the server closes. The request should say `Connection: close`. */
export async function exchange(port: number, request: string | Buffer): Promise<RawAnswer> {
  const socket = await openSocket(port);
  let wasCut = false;
  socket.on('error', () => {
    wasCut = true;
  });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const closed = once(socket, 'close');
  socket.write(request);
  await closed;
  return { ...parseAnswer(Buffer.concat(chunks)), wasCut };
}

/** Sends a request of one method and target with the given fields, and reads the answer to its end. */
export async function rawRequest(
  port: number,
  method: string,
  target: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> {
  const lines = Object.entries({ host: 'cdn.example', connection: 'close', ...fields });
  return await exchange(
    port,
    Buffer.from(
      `${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
      'latin1',
    ),
  );
}

/** Parses a head and treats the bytes after it as the body. */
export function parseAnswer(bytes: Buffer): Omit<RawAnswer, 'wasCut'> {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return { status: 0, statusLine: '', head: '', headers: {}, body: bytes };
  const head = bytes.toString('latin1', 0, end);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (name in headers) throw new Error(`the answer repeats ${name}`);
    headers[name] = line.slice(colon + 1).trim();
  }
  return {
    status: Number(statusLine.split(' ')[1]),
    statusLine,
    head,
    headers,
    body: bytes.subarray(end + 4),
  };
}
