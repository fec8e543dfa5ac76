import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { InFlightBudget } from './in-flight-budget.ts';

/** Bytes that wait to be written, with what they took from the budget. */
export interface PendingBytes {
  readonly bytes: Buffer;
  readonly granted: number;
}

/**
 * The way of one response to its client: counts what was written and not yet taken by the network, and knows when the
 * client has gone.
 */
export class Outflow {
  readonly #response: ServerResponse;
  readonly #budget: InFlightBudget;
  readonly #onSent: (bytes: Buffer) => void;
  #unflushed: number[] = [];
  #closed = false;
  #wake: (() => void) | null = null;

  /** @param onSent gets the body bytes that the network took, which nobody here reads any more */
  constructor(response: ServerResponse, budget: InFlightBudget, onSent: (bytes: Buffer) => void) {
    this.#response = response;
    this.#budget = budget;
    this.#onSent = onSent;
    if (response.destroyed || response.closed) this.#close();
    else response.once('close', () => this.#close());
  }

  /** Whether nothing can be sent any more: the client went away, or all was sent. */
  get closed(): boolean {
    return this.#closed;
  }

  /** How many writes the network has not taken yet. */
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
      // After the close everything was given back already.
      if (this.#closed) return;
      if (error !== undefined && error !== null) {
        // The socket is gone; the response says so only later.
        this.#close();
        return;
      }
      this.#unflushed.shift();
      this.#budget.giveBack(granted);
      this.#onSent(bytes);
      this.#awaken();
    };
    if (isLast) {
      // The callback of end() waits for the whole answer; the one of the write that it makes is not offered.
      this.#response.end(bytes, () => {
        flushed();
      });
    } else {
      this.#response.write(bytes, flushed);
    }
  }

  /** Waits until at most `limit` writes are not taken by the network, or the client is gone. */
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

/** What libuv counts of a stream; not part of Node's documented interface, so every use must do without it. */
interface StreamHandle {
  readonly bytesWritten?: unknown;
  readonly writeQueueSize?: unknown;
}

/**
 * Bytes that the network has taken from a socket since it was opened. `socket.bytesWritten` counts what was handed to
 * the socket, which says nothing of a client that takes a large chunk slowly.
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
