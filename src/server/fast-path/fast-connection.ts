import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Channel } from '../../domain/channel.ts';
import type { Clock } from '../../platform/clock.ts';
import { refuseLateRequest } from '../../platform/http/client-error.ts';
import type { CdnParts } from '../cdn/cdn-handler.ts';
import { SLICE_BYTES } from '../cdn/in-flight-budget.ts';
import type { Serving } from '../serving/serving.ts';
import { bodiesInMemory, FAST_BODY_BYTES, readBodies } from './fast-bodies.ts';
import type { FastPlan, Prepared, PreparedAnswers } from './prepared-answers.ts';
import { FAST_HEAD_BYTES, FastHeadReader, type FastHead } from './request-head.ts';

/** What the connections of one fast path share. */
export interface FastConnectionDeps {
  readonly answers: PreparedAnswers;
  readonly cdn: CdnParts;
  readonly serving: Serving;
  readonly clock: Clock;
  /** Milliseconds that a client has for its first byte. */
  readonly headersTimeoutMs: number;
  /** Milliseconds that a connection may stay idle after an answer. */
  readonly idleTimeoutMs: number;
  readonly isDraining: () => boolean;
  readonly record: (finished: {
    readonly method: string;
    readonly status: number;
    readonly bytes: number;
    readonly seconds: number;
    readonly completed: boolean;
    readonly requestId: string | undefined;
  }) => void;
  /** Told once when the connection is no longer this one's: it is closed, or its socket goes to the full server. */
  readonly onLeave: (connection: FastConnection, socket: Socket | null) => void;
}

/** An answer on its way. */
interface Exchange {
  readonly head: FastHead;
  readonly begun: number;
  readonly status: number;
  readonly bodyBytes: number;
  /** Head and body on the wire, once the head is known. */
  bytes: number;
  readonly channel: Channel;
  granted: number;
  /** Views of memory to give back to the buffers. */
  bodies: readonly Buffer[];
  watched: EventEmitter | null;
}

const NOTHING: readonly Buffer[] = [];

/** One connection for as long as it asks for nothing out of the ordinary. */
export class FastConnection {
  readonly #socket: Socket;
  readonly #deps: FastConnectionDeps;
  readonly #reader = new FastHeadReader();
  /** Bytes of the answers that are finished. */
  #finishedBytes = 0;
  #exchange: Exchange | null = null;
  #hasAnswered = false;
  #left = false;

  constructor(socket: Socket, deps: FastConnectionDeps) {
    this.#socket = socket;
    this.#deps = deps;
    socket.setTimeout(deps.headersTimeoutMs);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
    socket.on('end', this.#onEnd);
    socket.on('data', this.#onData);
  }

  /** Closes the connection when it is idle, or as soon as its answer is sent. */
  drain(): void {
    if (this.#exchange !== null) return;
    if (this.#hasAnswered) this.#socket.destroy();
    else this.#handOver(null);
  }

  /** Closes the connection at once. */
  cut(): void {
    this.#socket.destroy();
  }

  readonly #onData = (chunk: Buffer): void => {
    // Paused while an answer is on its way, so bytes that come then are more than one request at a time.
    if (this.#exchange !== null || this.#deps.isDraining() || chunk.length > FAST_HEAD_BYTES) {
      this.#handOver(chunk);
      return;
    }
    const head = this.#reader.read(chunk.toString('latin1'));
    const prepared = head === null ? null : this.#deps.answers.find(head.target);
    if (head === null || prepared === null || !this.#answer(head, prepared, chunk)) this.#handOver(chunk);
  };

  /** @returns whether the request is answered here, now or soon */
  #answer(head: FastHead, prepared: Prepared, chunk: Buffer): boolean {
    const { answers, cdn } = this.#deps;
    const ready = answers.ready(prepared, head);
    if (ready !== null) {
      const { kind, status, bytes, bodyBytes } = ready;
      if (kind === 'whole') cdn.metrics.cacheHits.add(1);
      const exchange = this.#begin(head, prepared, status, bodyBytes);
      exchange.bytes = bytes.length;
      this.#socket.write(bytes, this.#onFlushed);
      if (this.#socket.writableLength > 0) answers.pin(prepared, kind);
      this.#afterWrite(exchange);
      return true;
    }
    const plan = answers.plan(prepared, head);
    if (plan === null || plan.end - plan.start > FAST_BODY_BYTES) return false;
    if (plan.status !== 304 && plan.start === plan.end && !prepared.isOpenable) {
      void this.#load(head, prepared, { plan, chunk });
      return true;
    }
    const inMemory = bodiesInMemory(this.#deps, prepared, plan);
    if (inMemory === null) {
      void this.#load(head, prepared, { plan, chunk });
      return true;
    }
    const { bodies, heldBytes } = inMemory;
    const granted = heldBytes > SLICE_BYTES ? cdn.budget.take(heldBytes) : 0;
    if (granted < heldBytes && heldBytes > SLICE_BYTES) {
      // Too many clients are slow: the full server sends slice by slice.
      cdn.budget.giveBack(granted);
      for (const body of bodies) cdn.buffers.giveBack(body);
      return false;
    }
    answers.keep(prepared, head, { plan, body: bodies[0] });
    const exchange = this.#begin(head, prepared, plan.status, plan.end - plan.start);
    exchange.granted = granted;
    this.#send(exchange, plan, bodies);
    return true;
  }

  /** Reads verified bytes, then answers; whatever goes wrong before the answer began is told by the full server. */
  async #load(
    head: FastHead,
    prepared: Prepared,
    { plan, chunk }: { readonly plan: FastPlan; readonly chunk: Buffer },
  ): Promise<void> {
    const { cdn, serving } = this.#deps;
    const { release, generation } = prepared;
    const length = plan.end - plan.start;
    const exchange = this.#begin(head, prepared, plan.status, length);
    this.#socket.pause();
    this.#watch(exchange, () => {
      this.#end(exchange);
      this.#handOver(chunk);
    });
    let bodies: Buffer[] | null = null;
    try {
      const granted = length === 0 ? 0 : cdn.budget.take(length);
      exchange.granted = granted;
      if (granted === length) bodies = await readBodies(cdn, prepared, plan);
    } catch {
      // The reader has reported what it found; the full server asks again and has the words for it.
      bodies = null;
    }
    if (this.#left) return;
    if (bodies === null || !serving.servable(release).ok || serving.state().generation !== generation) {
      this.#end(exchange);
      this.#handOver(chunk);
      return;
    }
    prepared.isOpenable = true;
    this.#send(exchange, plan, bodies);
  }

  #begin(head: FastHead, { release }: Prepared, status: number, bodyBytes: number): Exchange {
    this.#exchange = {
      head,
      begun: this.#deps.clock.monotonic(),
      status,
      bodyBytes,
      bytes: 0,
      channel: release.channel,
      granted: 0,
      bodies: NOTHING,
      watched: null,
    };
    return this.#exchange;
  }

  #send(exchange: Exchange, plan: FastPlan, bodies: readonly Buffer[]): void {
    const socket = this.#socket;
    const head = this.#deps.answers.renderHead(plan);
    exchange.bodies = bodies;
    exchange.bytes = head.length + exchange.bodyBytes;
    const last = bodies.length - 1;
    if (last === -1) {
      socket.write(head, 'latin1', this.#onFlushed);
    } else {
      socket.cork();
      socket.write(head, 'latin1');
      bodies.forEach((body, at) => {
        if (at === last) socket.write(body, this.#onFlushed);
        else socket.write(body);
      });
      socket.uncork();
    }
    this.#afterWrite(exchange);
  }

  #afterWrite(exchange: Exchange): void {
    const { metrics } = this.#deps.cdn;
    const { channel, status } = exchange;
    metrics.answered(channel, status);
    if (status === 206) metrics.ranges.single.add(1);
    const socket = this.#socket;
    if (socket.writableLength === 0) return;
    socket.pause();
    exchange.watched?.emit('close');
    this.#watch(exchange, () => {
      metrics.stalledClients.inc();
      socket.destroy();
    });
  }

  /** Watches that an exchange gets on, until it ends. */
  #watch(exchange: Exchange, onStalled: () => void): void {
    const watched = new EventEmitter();
    exchange.watched = watched;
    const once = (event: 'close', listener: () => void): unknown => watched.once(event, listener);
    this.#deps.cdn.drainWatch.watch({ socket: this.#socket, closed: false, once }, onStalled);
  }

  readonly #onFlushed = (error?: Error | null): void => {
    const exchange = this.#exchange;
    // After a failure comes the close, which writes it down.
    if (exchange === null || (error !== undefined && error !== null)) return;
    const { cdn, isDraining, idleTimeoutMs } = this.#deps;
    if (exchange.bodyBytes > 0) cdn.metrics.sentBytes[exchange.channel].add(exchange.bodyBytes);
    for (const body of exchange.bodies) cdn.buffers.giveBack(body);
    this.#end(exchange);
    this.#finishedBytes += exchange.bytes;
    this.#record(exchange, exchange.bytes, true);
    if (!this.#hasAnswered) {
      this.#hasAnswered = true;
      this.#socket.setTimeout(idleTimeoutMs);
    }
    if (isDraining()) this.#socket.destroySoon();
    else if (this.#socket.isPaused()) this.#socket.resume();
  };

  #end(exchange: Exchange): void {
    this.#exchange = null;
    if (exchange.granted > 0) this.#deps.cdn.budget.giveBack(exchange.granted);
    exchange.watched?.emit('close');
  }

  #record({ head, begun, status }: Exchange, bytes: number, completed: boolean): void {
    this.#deps.record({
      method: head.method,
      status,
      bytes,
      seconds: (this.#deps.clock.monotonic() - begun) / 1000,
      completed,
      requestId: head.fields.requestId,
    });
  }

  readonly #onTimeout = (): void => {
    // A client that takes its answer slowly is the drain watch's business.
    if (this.#exchange !== null) return;
    if (this.#hasAnswered) this.#socket.destroy();
    else refuseLateRequest(this.#socket);
  };

  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  readonly #onEnd = (): void => {
    this.#socket.end();
  };

  readonly #onClose = (): void => {
    if (this.#left) return;
    this.#left = true;
    const exchange = this.#exchange;
    if (exchange !== null) {
      this.#end(exchange);
      this.#record(exchange, this.#socket.bytesWritten - this.#finishedBytes, false);
    }
    this.#deps.onLeave(this, null);
  };

  /** Gives the socket to the full server for good, with the bytes that were read from it last. */
  #handOver(chunk: Buffer | null): void {
    if (this.#left) return;
    this.#left = true;
    const socket = this.#socket;
    socket.setTimeout(0);
    socket.off('timeout', this.#onTimeout);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    socket.off('end', this.#onEnd);
    socket.off('data', this.#onData);
    socket.pause();
    if (chunk !== null) socket.unshift(chunk);
    this.#deps.onLeave(this, socket);
    socket.resume();
  }
}
