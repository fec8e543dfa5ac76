import { write, writeSync } from 'node:fs';
import process from 'node:process';

/** A log destination that writes in the background. */
export interface LogOutput {
  /** Takes one whole line with its line end. */
  write(line: string): void;
  /** Calls back when every line written so far is with the operating system, or can no longer be written. */
  flush(callback: () => void): void;
  /** Writes what is waiting at once; for the end of the process, when nothing runs in the background any more. */
  readonly flushSync: () => void;
}

/** What {@link createLogOutput} needs. */
export interface LogOutputOptions {
  readonly fd: number;
  /** Bytes that may wait for a slow reader; beyond it lines are dropped and counted. */
  readonly maxWaitingBytes: number;
  /** Most bytes of one write, unless one line is longer; default 64 KiB. */
  readonly maxWriteBytes?: number;
}

/** How long to wait after the reader's pipe was full, and how often when the process is ending. */
const RETRY_MS = 10;
const FINAL_RETRIES = 50;
const CHUNK_BYTES = 64 * 1024;

/**
 * Writes lines to a file descriptor without ever making the event loop wait for its reader. Written here because the
 * synchronous flush of pino's own destination never ends once the reader is gone (EPIPE), so that a process could not
 * exit after its parent died.
 */
export function createLogOutput({
  fd,
  maxWaitingBytes,
  maxWriteBytes = CHUNK_BYTES,
}: LogOutputOptions): LogOutput {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let isWriting = false;
  let isBroken = false;
  let dropped = 0;
  let callbacks: (() => void)[] = [];

  const add = (line: string): void => {
    const bytes = Buffer.from(line);
    waiting.push(bytes);
    waitingBytes += bytes.length;
  };

  const takeChunk = (): Buffer => {
    let count = 0;
    let size = 0;
    while (count < waiting.length && (count === 0 || size + (waiting[count]?.length ?? 0) <= maxWriteBytes)) {
      size += waiting[count]?.length ?? 0;
      count += 1;
    }
    const chunk = Buffer.concat(waiting.slice(0, count), size);
    waiting = waiting.slice(count);
    waitingBytes -= size;
    return chunk;
  };

  const noteDropped = (): void => {
    if (dropped === 0) return;
    const time = new Date().toISOString();
    add(`${JSON.stringify({ level: 'warn', time, msg: 'log lines were dropped', dropped })}\n`);
    dropped = 0;
  };

  const giveUp = (): void => {
    // Nobody reads any more, and there is nowhere to say so.
    isBroken = true;
    waiting = [];
    waitingBytes = 0;
  };

  const pump = (): void => {
    if (isWriting) return;
    noteDropped();
    if (waiting.length === 0) {
      const done = callbacks;
      callbacks = [];
      for (const callback of done) callback();
      return;
    }
    isWriting = true;
    writeChunk(takeChunk());
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
    noteDropped();
    while (waiting.length > 0) {
      if (!writeWhole(fd, takeChunk())) giveUp();
    }
  };
  process.on('exit', flushSync);

  return {
    write: (line) => {
      if (isBroken) return;
      if (waitingBytes + line.length > maxWaitingBytes) {
        dropped += 1;
        return;
      }
      add(line);
      pump();
    },
    flush: (callback) => {
      callbacks.push(callback);
      pump();
    },
    flushSync,
  };
}

/** Writes a chunk with a bounded number of tries; `false` when that failed. */
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
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY');
}
