import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Channel } from '../../domain/release/channel.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { CdnParts } from '../bytes/cdn-handler.ts';
import { SLICE_BYTES } from '../bytes/in-flight-budget.ts';
import type { FinishedRequest } from '../http/observe-request.ts';
import type { Serving } from '../serving/serving.ts';
import { bodiesInMemory, FAST_BODY_BYTES, readBodies } from './fast-bodies.ts';
import type { FastPlan, Prepared, PreparedAnswers } from './prepared-answers.ts';
import type { FastHead } from './request-head.ts';

/** One answer, when it is finished or cut, with the request id that the client sent, if it did. */
export type FinishedExchange = Omit<FinishedRequest, 'requestId' | 'route'> & {
  readonly requestId: string | undefined;
};

/** What the responders of one fast path share. */
export interface FastResponderDeps {
  readonly answers: PreparedAnswers;
  readonly cdn: CdnParts;
  readonly serving: Serving;
  readonly clock: Clock;
  readonly recordBytes: (finished: FinishedExchange) => void;
}

/** What a responder tells its connection. */
export interface FastResponderEvents {
  /** The network has taken the whole answer. */
  readonly onFinished: () => void;
  /** Nothing was sent, and the full server must answer the request that these bytes hold. */
  readonly onUnable: (request: Buffer) => void;
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

/** Answers the requests of one connection, one at a time: from memory, or with verified bytes that are read first. */
export class FastResponder {
  readonly #socket: Socket;
  readonly #deps: FastResponderDeps;
  readonly #events: FastResponderEvents;
  /** Bytes of the answers on this socket that are finished. */
  #finishedBytes = 0;
  #exchange: Exchange | null = null;

  constructor(socket: Socket, deps: FastResponderDeps, events: FastResponderEvents) {
    this.#socket = socket;
    this.#deps = deps;
    this.#events = events;
  }

  /** Whether an answer is on its way. */
  get isBusy(): boolean {
    return this.#exchange !== null;
  }

  /** Leaves bytes out of account that another part has sent on this socket. */
  passOver(bytes: number): void {
    this.#finishedBytes += bytes;
  }

  /** Writes down the answer that the end of the socket has cut. */
  close(): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    this.#end(exchange);
    this.#record(exchange, this.#socket.bytesWritten - this.#finishedBytes, false);
  }

  /**
   * Answers a request unless that takes the full server.
   *
   * @param chunk the bytes of the request
   * @returns whether the request is answered here, now or soon
   */
  answer(head: FastHead, prepared: Prepared, chunk: Buffer): boolean {
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
      this.#events.onUnable(chunk);
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
    // It was closed, or handed over because the volume does not answer.
    if (this.#exchange !== exchange) return;
    if (bodies === null || !serving.servable(release).ok || serving.state().generation !== generation) {
      this.#end(exchange);
      this.#events.onUnable(chunk);
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
    const { cdn } = this.#deps;
    if (exchange.bodyBytes > 0) cdn.metrics.sentBytes[exchange.channel].add(exchange.bodyBytes);
    for (const body of exchange.bodies) cdn.buffers.giveBack(body);
    this.#end(exchange);
    this.#finishedBytes += exchange.bytes;
    this.#record(exchange, exchange.bytes, true);
    this.#events.onFinished();
  };

  #end(exchange: Exchange): void {
    this.#exchange = null;
    if (exchange.granted > 0) this.#deps.cdn.budget.giveBack(exchange.granted);
    exchange.watched?.emit('close');
  }

  #record({ head, begun, status }: Exchange, bytes: number, completed: boolean): void {
    this.#deps.recordBytes({
      method: head.method,
      status,
      bytes,
      seconds: (this.#deps.clock.monotonic() - begun) / 1000,
      completed,
      requestId: head.fields.requestId,
    });
  }
}
