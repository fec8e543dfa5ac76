import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Clock } from '../../platform/process/clock.ts';
import type { CdnParts } from '../bytes/cdn-handler.ts';
import type { Answer } from '../http/answer.ts';
import type { FinishedRequest } from '../http/observe-request.ts';
import type { FastRequest, FastRoute } from './fast-routes.ts';
import type { FastHead } from './request-head.ts';
import type { ResponseHeads } from './response-heads.ts';

/** What the route responders of one fast path share. */
export interface RouteResponderDeps {
  readonly heads: ResponseHeads;
  readonly cdn: CdnParts;
  readonly clock: Clock;
  /** The id of a request, given what came as `X-Request-Id`. */
  readonly requestId: (received: string | undefined) => string;
  readonly record: (finished: FinishedRequest) => void;
}

/** An answer on its way. */
class RouteExchange implements FastRequest {
  readonly head: FastHead;
  readonly route: FastRoute;
  readonly begun: number;
  readonly query: string;
  readonly source: string;
  /** Bytes that the socket had sent before. */
  readonly sentBefore: number;
  status = 200;
  watched: EventEmitter | null = null;
  readonly #makeRequestId: (received: string | undefined) => string;
  #requestId: string | undefined;
  #gone: AbortController | null = null;

  constructor(
    head: FastHead,
    found: { readonly route: FastRoute; readonly query: string },
    { clock, requestId }: RouteResponderDeps,
    socket: Socket,
  ) {
    this.head = head;
    this.route = found.route;
    this.query = found.query;
    this.begun = clock.monotonic();
    this.source = socket.remoteAddress ?? 'unknown';
    this.sentBefore = socket.bytesWritten;
    this.#makeRequestId = requestId;
  }

  get authorization(): string | undefined {
    return this.head.fields.authorization;
  }

  get via(): string | undefined {
    return this.head.fields.via;
  }

  requestId(): string {
    this.#requestId ??= this.#makeRequestId(this.head.fields.requestId);
    return this.#requestId;
  }

  signal(): AbortSignal {
    this.#gone ??= new AbortController();
    return this.#gone.signal;
  }

  /** Tells whoever asked for the signal that the client has gone. */
  abort(): void {
    this.#gone?.abort();
  }
}

/** Answers the requests of one connection for routes, one at a time. */
export class RouteResponder {
  readonly #socket: Socket;
  readonly #deps: RouteResponderDeps;
  readonly #onFinished: (bytes: number) => void;
  #exchange: RouteExchange | null = null;

  /** @param onFinished called with its length when the network has taken a whole answer */
  constructor(socket: Socket, deps: RouteResponderDeps, onFinished: (bytes: number) => void) {
    this.#socket = socket;
    this.#deps = deps;
    this.#onFinished = onFinished;
  }

  /** Whether an answer is on its way. */
  get isBusy(): boolean {
    return this.#exchange !== null;
  }

  /** Answers a request, now or soon. */
  answer(head: FastHead, found: { readonly route: FastRoute; readonly query: string }): void {
    const exchange = new RouteExchange(head, found, this.#deps, this.#socket);
    this.#exchange = exchange;
    const answer = found.route.answer(exchange);
    if (answer instanceof Promise) void this.#sendLater(exchange, answer);
    else this.#send(exchange, answer);
  }

  /** Writes down the answer that the end of the socket has cut. */
  close(): void {
    const exchange = this.#exchange;
    if (exchange === null) return;
    this.#end(exchange);
    exchange.abort();
    this.#record(exchange, false);
  }

  async #sendLater(exchange: RouteExchange, answer: Promise<Answer>): Promise<void> {
    this.#send(exchange, await answer);
  }

  #send(exchange: RouteExchange, { status, headers, body }: Answer): void {
    // The client has gone.
    if (this.#exchange !== exchange) return;
    const socket = this.#socket;
    const length = body.reduce((sum, piece) => sum + piece.length, 0);
    const pieces = exchange.head.method === 'HEAD' ? [] : body.filter((piece) => piece.length > 0);
    const fields = ['x-content-type-options', 'nosniff'];
    for (const [name, value] of Object.entries(headers)) {
      if (name !== 'content-length' && name !== 'x-content-type-options') fields.push(name, value);
    }
    fields.push('content-length', String(length));
    const text = this.#deps.heads.render(status, fields);
    exchange.status = status;
    const last = pieces.at(-1);
    if (last === undefined) {
      socket.write(text, 'latin1', this.#onFlushed);
    } else {
      socket.cork();
      socket.write(text, 'latin1');
      for (const piece of pieces.slice(0, -1)) socket.write(piece);
      socket.write(last, this.#onFlushed);
      socket.uncork();
    }
    if (socket.writableLength === 0) return;
    const watched = new EventEmitter();
    exchange.watched = watched;
    const once = (event: 'close', listener: () => void): unknown => watched.once(event, listener);
    this.#deps.cdn.drainWatch.watch({ socket, closed: false, once }, () => {
      socket.destroy();
    });
  }

  readonly #onFlushed = (error?: Error | null): void => {
    const exchange = this.#exchange;
    // After a failure comes the close, which writes it down.
    if (exchange === null || (error !== undefined && error !== null)) return;
    this.#end(exchange);
    this.#record(exchange, true);
    this.#onFinished(this.#socket.bytesWritten - exchange.sentBefore);
  };

  #end(exchange: RouteExchange): void {
    this.#exchange = null;
    exchange.watched?.emit('close');
  }

  #record(exchange: RouteExchange, completed: boolean): void {
    this.#deps.record({
      method: exchange.head.method,
      route: exchange.route.route,
      status: exchange.status,
      bytes: this.#socket.bytesWritten - exchange.sentBefore,
      seconds: (this.#deps.clock.monotonic() - exchange.begun) / 1000,
      completed,
      requestId: () => exchange.requestId(),
    });
  }
}
