import type { Socket } from 'node:net';
import type { ByteResponsePlan } from '../../domain/http/byte-response.ts';
import { refuseLateRequest } from '../../platform/http/client-error.ts';
import type { Connection, Connections } from '../../platform/http/connections.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { BytePathParts } from '../bytes/byte-path-parts.ts';
import type { SelectedEntry } from '../bytes/entry-selector.ts';
import type { FastAnswers, ReadyAnswer } from './fast-answers.ts';
import { FastResponse } from './fast-response.ts';
import { FAST_HEAD_BYTES, RequestHeadReader, type FastHead } from './request-head.ts';

/** Settings and collaborators that the connections of one fast path share. */
export interface FastConnectionOptions {
  readonly answers: FastAnswers;
  readonly bytePath: BytePathParts;
  readonly clock: Clock;
  /** Milliseconds that a client has for its first byte. */
  readonly headersTimeoutMs: number;
  /** Milliseconds that a connection may stay idle after a response. */
  readonly idleTimeoutMs: number;
  /** The connections of the server. */
  readonly connections: Connections;
  /** Called with every response that has ended. */
  readonly record: (response: FastResponse, outcome: { bytes: number; completed: boolean }) => void;
  /** Called once: with `null` when the socket is closed, or with the socket when the full server must take it. */
  readonly onLeave: (connection: FastConnection, socket: Socket | null) => void;
}

/** A connection while it sends plain requests, one at a time. */
export class FastConnection {
  readonly #socket: Socket;
  readonly #connection: Connection;
  readonly #options: FastConnectionOptions;
  readonly #reader = new RequestHeadReader();
  #response: FastResponse | null = null;
  /** The first bytes that arrived during a response. */
  #early: Buffer | null = null;
  /** Bytes of the responses that are complete. */
  #completedBytes = 0;
  #left = false;

  constructor(connection: Connection, options: FastConnectionOptions) {
    const { socket } = connection;
    this.#connection = connection;
    this.#socket = socket;
    this.#options = options;
    socket.setTimeout(options.headersTimeoutMs);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
    socket.on('end', this.#onEnd);
    socket.on('data', this.#onData);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#response !== null) {
      // The next request waits for the response to this one, as in the full server.
      this.#early = chunk;
      this.#socket.pause();
      return;
    }
    const { answers, connections } = this.#options;
    // The full server says `Connection: close` while it retires.
    const isPlain = !connections.retired && chunk.length <= FAST_HEAD_BYTES;
    const head = isPlain ? this.#reader.read(chunk.toString('latin1')) : null;
    const entry = head === null ? null : answers.find(head);
    if (head === null || entry === null) {
      this.#handOver(chunk);
      return;
    }
    const ready = answers.ready(entry, head);
    const plan = ready === null ? answers.plan(entry, head) : null;
    if (ready !== null) this.#sendReady(head, entry, ready);
    else if (plan === null) this.#handOver(chunk);
    else void this.#send(this.#begin(head), { entry, plan, request: chunk });
  };

  #begin(head: FastHead): FastResponse {
    const { answers, clock, connections } = this.#options;
    connections.begin(this.#connection);
    const response = new FastResponse(this.#socket, head, answers, clock.monotonic());
    response.onFlushed = this.#onFlushed;
    this.#response = response;
    return response;
  }

  #sendReady(head: FastHead, { release }: SelectedEntry, ready: ReadyAnswer): void {
    const { metrics, drainWatch } = this.#options.bytePath;
    const response = this.#begin(head);
    metrics.answered(release.channel, ready.status);
    if (ready.bodyBytes > 0) {
      metrics.cacheHits.add(1);
      metrics.sentBytes[release.channel].add(ready.bodyBytes);
    }
    response.status = ready.status;
    response.end(ready.bytes);
    if (this.#socket.writableLength === 0) return;
    drainWatch.watch(response, () => {
      metrics.stalledClients.inc();
      this.#socket.destroy();
    });
  }

  async #send(
    response: FastResponse,
    { entry, plan, request }: { entry: SelectedEntry; plan: ByteResponsePlan; request: Buffer },
  ): Promise<void> {
    const fail = (): void => {
      if (response.closed) return;
      if (response.headersSent) this.#socket.destroy();
      // Nothing was sent: the full server tries again and reports the problem.
      else this.#handOver(request);
    };
    try {
      await this.#options.bytePath.sender.send(response, entry, plan, { fromVolume: false, onStalled: fail });
      if (plan.parts.length === 0) this.#options.answers.keep(entry, response.head);
    } catch {
      fail();
    }
  }

  readonly #onFlushed = (): void => {
    const response = this.#response;
    if (response === null) return;
    this.#response = null;
    response.close();
    if (this.#completedBytes === 0) this.#socket.setTimeout(this.#options.idleTimeoutMs);
    this.#completedBytes += response.bytes;
    this.#options.record(response, { bytes: response.bytes, completed: true });
    this.#options.connections.end(this.#connection);
    const early = this.#early;
    if (early !== null) this.#handOver(early);
  };

  readonly #onTimeout = (): void => {
    // During a response the drain watch decides.
    if (this.#response !== null) return;
    if (this.#completedBytes > 0) this.#socket.destroy();
    else refuseLateRequest(this.#socket);
  };

  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  readonly #onEnd = (): void => {
    // Like node:http, close when the client half-closes.
    this.#socket.end();
  };

  readonly #onClose = (): void => {
    if (this.#left) return;
    this.#left = true;
    const response = this.#response;
    if (response !== null) {
      response.close();
      this.#options.connections.end(this.#connection);
      const bytes = this.#socket.bytesWritten - this.#completedBytes;
      this.#options.record(response, { bytes, completed: false });
    }
    this.#options.onLeave(this, null);
  };

  /** Gives the socket to the full server for good, with the bytes that were read from it last. */
  #handOver(chunk: Buffer): void {
    if (this.#left) return;
    this.#left = true;
    if (this.#response !== null) {
      this.#response.close();
      this.#options.connections.end(this.#connection);
    }
    const socket = this.#socket;
    socket.setTimeout(0);
    socket.off('timeout', this.#onTimeout);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    socket.off('end', this.#onEnd);
    socket.off('data', this.#onData);
    socket.pause();
    if (this.#early !== null && this.#early !== chunk) socket.unshift(this.#early);
    socket.unshift(chunk);
    this.#options.onLeave(this, socket);
    socket.resume();
  }
}
