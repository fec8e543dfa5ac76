import type { Socket } from 'node:net';
import { openSocket, parseAnswer, type RawAnswer } from './raw-http.ts';

/** How a connection ended, and the bytes after the last answer that was read from it. */
export interface ConnectionEnd {
  readonly wasCut: boolean;
  readonly rest: Buffer;
}

/**
 * A connection to which bytes are written as given and from which answers are read one by one. Each answer's own
 * framing is applied strictly, so one byte too many or too few is noticed.
 */
export class HttpConnection {
  readonly socket: Socket;
  readonly #closed: Promise<void>;
  #received: Buffer = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  #waitingFor = 0;
  #isClosed = false;
  #wasCut = false;
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#waitingFor -= chunk.length;
      // A large answer is parsed when it is complete, not after each of its chunks.
      if (this.#waitingFor <= 0) this.#wake();
    });
    socket.on('error', () => {
      this.#wasCut = true;
    });
    this.#closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true;
        this.#wake();
        resolve();
      });
    });
  }

  /** Connects to a port of this machine. */
  static async open(port: number): Promise<HttpConnection> {
    return new HttpConnection(await openSocket(port));
  }

  /** Sends bytes as they are; text is Latin-1. */
  send(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /**
   * Reads the next answer, including interim ones. If the connection ends before the answer does, returns the partial
   * answer with `wasCut`.
   *
   * @param method of the request that it answers
   */
  async answer(method = 'GET'): Promise<RawAnswer> {
    for (;;) {
      const received = this.#takeIn();
      const length = answerLength(received, method);
      if (length !== null && received.length >= length) {
        this.#received = received.subarray(length);
        return { ...parseAnswer(received.subarray(0, length)), wasCut: false };
      }
      if (this.#isClosed) {
        this.#received = Buffer.alloc(0);
        return { ...parseAnswer(received), wasCut: true };
      }
      this.#waitingFor = length === null ? 0 : length - received.length;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Waits until the server has ended the connection. */
  async closed(): Promise<ConnectionEnd> {
    await this.#closed;
    return { wasCut: this.#wasCut, rest: this.#takeIn() };
  }

  destroy(): void {
    this.socket.destroy();
  }

  #takeIn(): Buffer {
    this.#received = Buffer.concat([this.#received, ...this.#chunks]);
    this.#chunks = [];
    return this.#received;
  }
}

/** The fields of a request, in order. Repeated names are sent as they are. */
export type RequestFields = readonly (readonly [name: string, value: string])[];

/** The bytes of a request without a body. */
export function renderRequest(method: string, target: string, fields: RequestFields = []): string {
  const lines = [['Host', 'cdn.example'] as const, ...fields].map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/**
 * Sends one request on a keep-alive connection and reads its answer. Then proves by a second request that only that
 * answer was sent.
 */
export async function ask(
  port: number,
  method: string,
  target: string,
  fields: RequestFields = [],
): Promise<RawAnswer> {
  const connection = await HttpConnection.open(port);
  connection.send(renderRequest(method, target, fields));
  const answer = await connection.answer(method);
  if (!answer.wasCut && answer.headers['connection'] !== 'close') {
    connection.send(renderRequest('HEAD', '/healthz', [['Connection', 'close']]));
    const next = await connection.answer('HEAD');
    const { rest } = await connection.closed();
    if (next.status !== 200 || rest.length > 0) {
      throw new Error(`bytes were left behind the answer to ${method} ${target}: ${next.statusLine}`);
    }
  }
  connection.destroy();
  return answer;
}

/** The length of the first answer in bytes, according to its head; `null` while the head is incomplete. */
function answerLength(bytes: Buffer, method: string): number | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const { status, headers } = parseAnswer(bytes.subarray(0, end + 4));
  const head = end + 4;
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return head;
  const length = headers['content-length'];
  if (headers['transfer-encoding'] !== undefined || length === undefined || !/^[0-9]+$/.test(length)) {
    // Only an answer that ends its connection may omit its length.
    if (headers['connection'] === 'close') return head;
    throw new Error(`the answer does not say where it ends: ${bytes.toString('latin1', 0, end)}`);
  }
  return head + Number(length);
}
