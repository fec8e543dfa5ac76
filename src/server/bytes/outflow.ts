import type { Socket } from 'node:net';
import type { InFlightBudget } from './in-flight-budget.ts';

/** The part of a response that the byte path uses; a `ServerResponse` is one. */
export interface ByteResponse {
  /** `null` while another response on the same connection is ahead of this one. */
  readonly socket: Socket | null;
  readonly headersSent: boolean;
  readonly closed: boolean;
  readonly destroyed: boolean;
  /** @param fields names and values in turn */
  writeHead(status: number, fields: string[]): unknown;
  /** @param callback called when the network has taken the bytes, or with the error that prevents it */
  write(bytes: Buffer, callback?: (error?: Error | null) => void): unknown;
  /** @param callback called when the network has taken the whole response */
  end(bytes?: Buffer, callback?: () => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** Bytes to write, with their grant from the budget. */
export interface PendingBytes {
  readonly bytes: Buffer;
  readonly granted: number;
}

/** Tracks the bytes that a response has written and the network has not taken, and detects that the client left. */
export class Outflow {
  readonly #response: ByteResponse;
  readonly #budget: InFlightBudget;
  readonly #onSent: (bytes: Buffer) => void;
  #unflushed: number[] = [];
  #closed = false;
  #wake: (() => void) | null = null;

  /** @param onSent receives body bytes that the network has taken; this object no longer uses them */
  constructor(response: ByteResponse, budget: InFlightBudget, onSent: (bytes: Buffer) => void) {
    this.#response = response;
    this.#budget = budget;
    this.#onSent = onSent;
    if (response.destroyed || response.closed) this.#close();
    else response.once('close', () => this.#close());
  }

  /** Whether nothing more can be sent, because the client has disconnected or everything was sent. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Number of writes that the network has not taken yet. */
  get unflushed(): number {
    return this.#unflushed.length;
  }

  /** Writes bytes and gives their grant back once the network has taken them. */
  write({ bytes, granted }: PendingBytes, isLast: boolean): void {
    if (this.#closed) {
      this.#budget.giveBack(granted);
      return;
    }
    this.#unflushed.push(granted);
    const flushed = (error?: Error | null): void => {
      // On close everything was already given back.
      if (this.#closed) return;
      if (error !== undefined && error !== null) {
        // The socket is closed; the response reports it only later.
        this.#close();
        return;
      }
      this.#unflushed.shift();
      this.#budget.giveBack(granted);
      this.#onSent(bytes);
      this.#awaken();
    };
    if (isLast) {
      // The callback of end() waits for the whole answer. Node offers no callback for the write that end() makes.
      this.#response.end(bytes, () => {
        flushed();
      });
    } else {
      this.#response.write(bytes, flushed);
    }
  }

  /** Waits until the network has taken all but `limit` writes, or the client has disconnected. */
  async settle(limit: number): Promise<void> {
    while (!this.#closed && this.#unflushed.length > limit) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const granted of this.#unflushed) this.#budget.giveBack(granted);
    this.#unflushed = [];
    this.#awaken();
  }

  #awaken(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/** The counters of libuv for a stream. Node does not document them, so the caller must work without them (ADR 7). */
interface StreamHandle {
  readonly bytesWritten?: unknown;
  readonly writeQueueSize?: unknown;
}

/**
 * Bytes that the network has taken from a socket since it was opened. `socket.bytesWritten` also counts bytes that wait
 * in the process, so it cannot show that a client takes a large chunk slowly.
 */
export function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: StreamHandle | null };
  if (
    handle === undefined ||
    handle === null ||
    typeof handle.bytesWritten !== 'number' ||
    typeof handle.writeQueueSize !== 'number'
  ) {
    return socket.bytesWritten - socket.writableLength;
  }
  return handle.bytesWritten - handle.writeQueueSize;
}
