import { write, writeSync } from 'node:fs';
import process from 'node:process';
import { errorCode } from '../files/error-code.ts';

/** A log destination that writes in the background. */
export interface LogOutput {
  write(line: string): void;
  /** Calls back when every line written so far is with the operating system, or can no longer be written. */
  flush(callback: () => void): void;
  /** Writes every waiting line now; for the end of the process, when nothing runs in the background anymore. */
  readonly flushSync: () => void;
}

interface LogOutputOptions {
  readonly fd: number;
  /** Bytes that may wait for a slow reader; beyond it lines are dropped and counted. */
  readonly maxWaitingBytes: number;
  /** Maximum number of bytes of one write, unless one line is longer; default 64 KiB. */
  readonly maxWriteBytes?: number;
}

const RETRY_MS = 10;
const FINAL_RETRIES = 50;
const CHUNK_BYTES = 64 * 1024;

/** Lines that wait to be written, within a bound of bytes. */
class LineQueue {
  readonly #maxBytes: number;
  readonly #maxChunkBytes: number;
  #lines: Buffer[] = [];
  #bytes = 0;
  #dropped = 0;

  constructor(maxBytes: number, maxChunkBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxChunkBytes = maxChunkBytes;
  }

  /** Adds a line, or counts it as dropped when there is no room. */
  add(line: string): void {
    if (this.#bytes + line.length > this.#maxBytes) this.#dropped += 1;
    else this.#push(line);
  }

  takeChunk(): Buffer | null {
    this.#noteDropped();
    let count = 0;
    let size = 0;
    for (const line of this.#lines) {
      if (count > 0 && size + line.length > this.#maxChunkBytes) break;
      size += line.length;
      count += 1;
    }
    if (count === 0) return null;
    this.#bytes -= size;
    return Buffer.concat(this.#lines.splice(0, count), size);
  }

  clear(): void {
    this.#lines = [];
    this.#bytes = 0;
  }

  #push(line: string): void {
    const bytes = Buffer.from(line);
    this.#lines.push(bytes);
    this.#bytes += bytes.length;
  }

  #noteDropped(): void {
    if (this.#dropped === 0) return;
    const time = new Date().toISOString();
    const fields = { level: 'warn', time, msg: 'log lines were dropped', dropped: this.#dropped };
    this.#dropped = 0;
    this.#push(`${JSON.stringify(fields)}\n`);
  }
}

/**
 * Writes lines to a file descriptor without ever making the event loop wait for its reader. The synchronous flush of
 * pino's own destination never ends once the reader is gone (EPIPE), so that a process could not exit after its parent
 * died.
 */
export function createLogOutput({
  fd,
  maxWaitingBytes,
  maxWriteBytes = CHUNK_BYTES,
}: LogOutputOptions): LogOutput {
  const queue = new LineQueue(maxWaitingBytes, maxWriteBytes);
  let isWriting = false;
  let isBroken = false;
  let callbacks: (() => void)[] = [];

  const giveUp = (): void => {
    // The reader has gone, and there is nowhere to report it.
    isBroken = true;
    queue.clear();
  };

  const pump = (): void => {
    if (isWriting) return;
    const chunk = queue.takeChunk();
    if (chunk !== null) {
      isWriting = true;
      writeChunk(chunk);
      return;
    }
    const done = callbacks;
    callbacks = [];
    for (const callback of done) callback();
  };

  const writeChunk = (chunk: Buffer): void => {
    write(fd, chunk, (error, written) => {
      if (error !== null && isFull(error)) {
        setTimeout(writeChunk, RETRY_MS, chunk);
        return;
      }
      if (error !== null) giveUp();
      else if (written < chunk.length) {
        writeChunk(chunk.subarray(written));
        return;
      }
      isWriting = false;
      pump();
    });
  };

  const flushSync = (): void => {
    for (let chunk = queue.takeChunk(); chunk !== null; chunk = queue.takeChunk()) {
      if (!writeWhole(fd, chunk)) giveUp();
    }
  };
  process.on('exit', flushSync);

  return {
    write: (line) => {
      if (isBroken) return;
      queue.add(line);
      pump();
    },
    flush: (callback) => {
      callbacks.push(callback);
      pump();
    },
    flushSync,
  };
}

function writeWhole(fd: number, chunk: Buffer): boolean {
  let rest = chunk;
  for (let attempt = 0; attempt < FINAL_RETRIES; attempt += 1) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (!isFull(error)) return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
    if (rest.length === 0) return true;
  }
  return false;
}

/** Whether a non-blocking descriptor cannot take more at the moment. */
function isFull(error: unknown): boolean {
  return ['EAGAIN', 'EBUSY'].includes(errorCode(error) ?? '');
}
