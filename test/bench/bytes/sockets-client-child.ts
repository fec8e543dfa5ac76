/**
 * A client on raw sockets that reads into one shared buffer. Its one argument is a {@link SocketsLoad} as JSON. It runs
 * until the time is over or its standard input ends, but at least until the first bytes of a body or the first answer
 * without a body, and prints a {@link LoadResult} as JSON. It fails when an answer has another status or length than
 * the load says, or when a connection is closed.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { quantile } from '../statistics.ts';
import type { LoadResult, SocketsLoad } from './load.ts';

const BUFFER_BYTES = 256 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');
const MAX_HEAD_BYTES = 16 * 1024;
const FIRST_ANSWER_MS = 30_000;

const load = JSON.parse(process.argv[2] ?? '') as SocketsLoad;
const heads = load.heads.map((head) => Buffer.from(head, 'latin1'));
const expected = Buffer.from(`HTTP/1.1 ${load.status} `, 'latin1');
const shared = Buffer.allocUnsafeSlow(BUFFER_BYTES);
const latencies: number[] = [];
let requests = 0;
let bytes = 0;
let next = 0;
const firstAnswer = Promise.withResolvers<void>();
let isOver = false;

function fail(message: string): never {
  console.error(`sockets client: ${message}`);
  process.exit(1);
}

class Connection {
  readonly #socket: Socket;
  /** Of the answer that is being received; `null` while its head is incomplete. */
  #bodyLeft: number | null = null;
  #head: Buffer | null = null;
  #askedAt = 0;
  #onIdle: (connection: Connection) => void;

  constructor(onIdle: (connection: Connection) => void) {
    this.#onIdle = onIdle;
    this.#socket = connect({
      host: '127.0.0.1',
      port: load.port,
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (length) => {
          this.#take(shared.subarray(0, length));
          return true;
        },
      },
    });
    this.#socket.on('error', (error) => {
      if (!isOver) fail(error.message);
    });
    this.#socket.on('close', () => {
      if (!isOver) fail('the server ended a connection');
    });
  }

  async connected(): Promise<void> {
    await once(this.#socket, 'connect');
  }

  /** @param since when the request was due, in the time of `performance.now()` */
  ask(since: number): void {
    this.#askedAt = since;
    this.#bodyLeft = null;
    next = next + 1 === heads.length ? 0 : next + 1;
    this.#socket.write(heads[next] ?? '');
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#bodyLeft === null) {
      const received = this.#head === null ? chunk : Buffer.concat([this.#head, chunk]);
      const end = received.indexOf(HEAD_END);
      if (end === -1) {
        if (received.length > MAX_HEAD_BYTES) fail('the head of an answer does not end');
        // The shared buffer is overwritten by the next read.
        this.#head = Buffer.from(received);
        return;
      }
      this.#head = null;
      if (received.compare(expected, 0, expected.length, 0, expected.length) !== 0) {
        fail(`not ${load.status}: ${received.toString('latin1', 0, end)}`);
      }
      this.#bodyLeft = load.bodyBytes;
      this.#count(received.length - end - HEAD_END.length);
    } else {
      this.#count(chunk.length);
    }
  }

  #count(length: number): void {
    bytes += length;
    if (bytes > 0) firstAnswer.resolve();
    this.#bodyLeft = (this.#bodyLeft ?? 0) - length;
    if (this.#bodyLeft > 0) return;
    if (this.#bodyLeft < 0) fail(`an answer has ${-this.#bodyLeft} bytes more than ${load.bodyBytes}`);
    requests += 1;
    firstAnswer.resolve();
    if (load.requestsPerSecond !== undefined) latencies.push(performance.now() - this.#askedAt);
    this.#onIdle(this);
  }
}

/** Sends the next request as soon as an answer is complete. */
function unpaced(): Connection[] {
  return Array.from({ length: load.connections }, () => new Connection((each) => each.ask(0)));
}

/**
 * Sends requests at a steady rate, whatever the server does. The latency of a delayed request counts from when it was
 * due.
 */
function paced(rate: number): { readonly connections: Connection[]; start(): void } {
  const idle: Connection[] = [];
  const due: number[] = [];
  const connections = Array.from(
    { length: load.connections },
    () =>
      new Connection((each) => {
        const since = due.shift();
        if (since === undefined) idle.push(each);
        else each.ask(since);
      }),
  );
  return {
    connections,
    start: () => {
      idle.push(...connections);
      const startedAt = performance.now();
      let asked = 0;
      setInterval(() => {
        const now = performance.now();
        // A late tick of this client is not the server's fault: its requests are due now.
        for (; asked < ((now - startedAt) / 1000) * rate; asked += 1) {
          const connection = idle.shift();
          if (connection === undefined) due.push(now);
          else connection.ask(now);
        }
      }, 1);
    },
  };
}

const { requestsPerSecond } = load;
const pacing = requestsPerSecond === undefined ? null : paced(requestsPerSecond);
const connections = pacing?.connections ?? unpaced();
await Promise.all(connections.map(async (connection) => await connection.connected()));
const startedAt = performance.now();
if (pacing === null) for (const connection of connections) connection.ask(0);
else pacing.start();
process.stdin.resume();
await Promise.race([delay(load.seconds * 1000), once(process.stdin, 'end')]);
// On a busy machine a short run may be over before the first answer.
await Promise.race([firstAnswer.promise, delay(FIRST_ANSWER_MS).then(() => fail('no answer'))]);
isOver = true;
const seconds = (performance.now() - startedAt) / 1000;
for (const connection of connections) connection.destroy();
const result: LoadResult = {
  requests,
  bytes,
  seconds,
  ...(latencies.length === 0 ? {} : { p99Milliseconds: quantile(latencies, 0.99) }),
};
console.log(JSON.stringify(result));
process.exit();
