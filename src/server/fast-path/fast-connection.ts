import type { Socket } from 'node:net';
import { refuseLateRequest } from '../../platform/http/client-error.ts';
import { FastResponder, type FastResponderDeps } from './fast-responder.ts';
import { findFastRoute, type FastRoutes } from './fast-routes.ts';
import { FAST_HEAD_BYTES, FastHeadReader } from './request-head.ts';
import { RouteResponder, type RouteResponderDeps } from './route-responder.ts';

/** What the connections of one fast path share. */
export interface FastConnectionDeps extends FastResponderDeps, RouteResponderDeps {
  readonly routes: FastRoutes;
  /** Milliseconds that a client has for its first byte. */
  readonly headersTimeoutMs: number;
  /** Milliseconds that a connection may stay idle after an answer. */
  readonly idleTimeoutMs: number;
  readonly isDraining: () => boolean;
  /** Told once when the connection is no longer this one's: it is closed, or its socket goes to the full server. */
  readonly onLeave: (connection: FastConnection, socket: Socket | null) => void;
}

/** One connection for as long as it asks for nothing out of the ordinary. */
export class FastConnection {
  readonly #socket: Socket;
  readonly #deps: FastConnectionDeps;
  readonly #reader = new FastHeadReader();
  readonly #responder: FastResponder;
  /** Made with the first request for a route: most connections ask for bytes alone. */
  #routeResponder: RouteResponder | null = null;
  /** What came while a route was being answered. */
  #early: Buffer | null = null;
  #hasAnswered = false;
  #left = false;

  constructor(socket: Socket, deps: FastConnectionDeps) {
    this.#socket = socket;
    this.#deps = deps;
    this.#responder = new FastResponder(socket, deps, {
      onFinished: this.#onFinished,
      onUnable: (request) => {
        this.#handOver(request);
      },
    });
    socket.setTimeout(deps.headersTimeoutMs);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
    socket.on('end', this.#onEnd);
    socket.on('data', this.#onData);
  }

  /** Closes the connection when it is idle, or as soon as its answer is sent. */
  drain(): void {
    if (this.#isBusy) return;
    if (this.#hasAnswered) this.#socket.destroy();
    else this.#handOver(null);
  }

  /** Closes the connection at once. */
  cut(): void {
    this.#socket.destroy();
  }

  get #isBusy(): boolean {
    return this.#responder.isBusy || this.#isAnsweringRoute;
  }

  get #isAnsweringRoute(): boolean {
    return this.#routeResponder?.isBusy === true;
  }

  readonly #onData = (chunk: Buffer): void => {
    const { answers, routes, isDraining } = this.#deps;
    if (this.#isAnsweringRoute) {
      // It reads on, to learn when the client goes; another request has to wait.
      this.#early = chunk;
      this.#socket.pause();
      return;
    }
    // Paused while bytes are on their way, so those that come then are more than one request at a time.
    if (this.#responder.isBusy || isDraining() || chunk.length > FAST_HEAD_BYTES) {
      this.#handOver(chunk);
      return;
    }
    const head = this.#reader.read(chunk.toString('latin1'));
    const found = head === null ? null : findFastRoute(routes, head.target);
    if (head !== null && found !== null) {
      this.#routeResponder ??= new RouteResponder(this.#socket, this.#deps, (bytes) => {
        this.#responder.passOver(bytes);
        this.#onFinished();
      });
      this.#routeResponder.answer(head, found);
      return;
    }
    const prepared = head === null || head.target.includes('?') ? null : answers.find(head.target);
    if (head === null || prepared === null || !this.#responder.answer(head, prepared, chunk)) {
      this.#handOver(chunk);
    }
  };

  readonly #onFinished = (): void => {
    // The full server has rules of its own for what comes next.
    if (this.#left) return;
    if (!this.#hasAnswered) {
      this.#hasAnswered = true;
      this.#socket.setTimeout(this.#deps.idleTimeoutMs);
    }
    const early = this.#early;
    this.#early = null;
    if (this.#deps.isDraining()) this.#socket.destroySoon();
    else if (early !== null) this.#handOver(early);
    else if (this.#socket.isPaused()) this.#socket.resume();
  };

  readonly #onTimeout = (): void => {
    // A client that takes its answer slowly is the drain watch's business.
    if (this.#isBusy) return;
    if (this.#hasAnswered) this.#socket.destroy();
    else refuseLateRequest(this.#socket);
  };

  readonly #onError = (): void => {
    this.#socket.destroy();
  };

  readonly #onEnd = (): void => {
    // As the full server does: who says no more is not waited for.
    if (this.#isAnsweringRoute) this.#socket.destroySoon();
    else this.#socket.end();
  };

  readonly #onClose = (): void => {
    if (this.#left) return;
    this.#left = true;
    this.#responder.close();
    this.#routeResponder?.close();
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
