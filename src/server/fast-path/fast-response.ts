import type { Socket } from 'node:net';
import type { ByteResponse } from '../bytes/outflow.ts';
import type { FastAnswers } from './fast-answers.ts';
import type { FastHead } from './request-head.ts';

const ignore = (): void => undefined;

/** One response of the fast path, written to the socket as node:http would write it. */
export class FastResponse implements ByteResponse {
  readonly socket: Socket;
  readonly head: FastHead;
  /** Monotonic milliseconds. */
  readonly begun: number;
  /** 0 until known. */
  status = 0;
  /** Head and body bytes handed to the socket. */
  bytes = 0;
  closed = false;
  /** Called when the network has taken the whole response. */
  onFlushed: () => void = ignore;
  readonly #answers: FastAnswers;
  #closeListeners: Array<() => void> | null = null;
  #unsentHead = '';

  /** @param begun monotonic milliseconds */
  constructor(socket: Socket, head: FastHead, answers: FastAnswers, begun: number) {
    this.socket = socket;
    this.head = head;
    this.#answers = answers;
    this.begun = begun;
  }

  get headersSent(): boolean {
    return this.status !== 0;
  }

  get destroyed(): boolean {
    return this.closed;
  }

  writeHead(status: number, fields: readonly string[]): void {
    this.status = status;
    this.#unsentHead = this.#answers.render(status, fields);
  }

  write(bytes: Buffer, callback?: (error?: Error | null) => void): void {
    const { socket } = this;
    const head = this.#unsentHead;
    this.bytes += head.length + bytes.length;
    if (head === '') {
      socket.write(bytes, callback);
      return;
    }
    this.#unsentHead = '';
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(bytes, callback);
    socket.uncork();
  }

  end(bytes?: Buffer, callback?: () => void): void {
    const flushed = (error?: Error | null): void => {
      // After an error the socket is closed, and its owner closes this response.
      if (this.closed || (error !== undefined && error !== null)) return;
      callback?.();
      this.onFlushed();
    };
    if (bytes !== undefined) {
      this.write(bytes, flushed);
      return;
    }
    this.bytes += this.#unsentHead.length;
    this.socket.write(this.#unsentHead, 'latin1', flushed);
  }

  once(_event: 'close', listener: () => void): void {
    (this.#closeListeners ??= []).push(listener);
  }

  /** Ends the use of the socket and informs the listeners. */
  close(): void {
    this.closed = true;
    for (const listener of this.#closeListeners ?? []) listener();
  }
}
