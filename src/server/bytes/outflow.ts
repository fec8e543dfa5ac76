import type { Socket } from 'node:net';
import type { InFlightBudget } from './in-flight-budget.ts';

/** The part of a response that the byte path uses; a `ServerResponse` is one. */
export interface ByteResponse {
  /** `null` while another response on the same connection comes first. */
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

/** Bytes that wait to be written, with what they took from the budget. */
export interface PendingBytes {
  readonly bytes: Buffer;
  readonly granted: number;
}

/** Counts what a response has written and the network has not taken, and notices when the client goes away. */
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

  /** Whether nothing more can be sent: the client went away, or everything was sent. */
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

/** The counters of libuv for a stream. Node does not document them, so the caller must work without them (ADR 20). */
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
