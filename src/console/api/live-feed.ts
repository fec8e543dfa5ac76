/** Requests one report repeatedly: at a fixed pace while it is answered, more and more slowly while it fails. */

import { signal, type ReadonlySignal } from '@preact/signals';
import { type ApiFailure, failureOf } from './api-client.ts';

/** Longest pause between two requests, milliseconds. */
const MAX_PAUSE_MS = 30_000;

export interface FeedState<T> {
  readonly value: T | null;
  /** Time of that answer, milliseconds. */
  readonly loadedAt: number | null;
  /** Of the last request, `null` if it succeeded. */
  readonly failure: ApiFailure | null;
  /** Time of the next request, milliseconds; `null` during one or if none will follow. */
  readonly nextAt: number | null;
}

export interface Feed<T> {
  readonly state: ReadonlySignal<FeedState<T>>;
  start(): void;
  stop(): void;
  refresh(): void;
}

export const EMPTY_FEED: FeedState<never> = { value: null, loadedAt: null, failure: null, nextAt: null };

/** The timers of the browser; a test drives its own. */
export type Timers = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>;

interface FeedParts<T> {
  /** @throws ApiFailure */
  readonly load: (signal: AbortSignal) => Promise<T>;
  /** Milliseconds until the next request after a success. */
  readonly pauseAfter: (value: T) => number;
  readonly onChange: () => void;
  readonly timers?: Timers;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** Makes a feed that has not started yet. */
export function createFeed<T>({
  load,
  pauseAfter,
  onChange,
  timers = globalThis,
  now = Date.now,
}: FeedParts<T>): Feed<T> {
  const state = signal<FeedState<T>>(EMPTY_FEED);
  let running: AbortController | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  function start(): void {
    if (running !== null) return;
    running = new AbortController();
    void ask(running.signal);
  }

  function stop(): void {
    timers.clearTimeout(timer);
    running?.abort();
    if (running !== null && state.peek().nextAt !== null) state.value = { ...state.peek(), nextAt: null };
    running = null;
  }

  function refresh(): void {
    if (running === null) return;
    stop();
    start();
  }

  async function ask(stopped: AbortSignal): Promise<void> {
    state.value = { ...state.peek(), nextAt: null };
    let pause: number;
    try {
      const value = await load(stopped);
      if (stopped.aborted) return;
      failures = 0;
      pause = pauseAfter(value);
      state.value = { value, loadedAt: now(), failure: null, nextAt: now() + pause };
    } catch (error) {
      if (stopped.aborted) return;
      const failure = failureOf(error);
      failures += 1;
      pause = pauseAfterFailure(failures, failure.retryAfter);
      state.value = { ...state.peek(), failure, nextAt: now() + pause };
    }
    timer = timers.setTimeout(() => void ask(stopped), pause);
    onChange();
  }

  return { state, start, stop, refresh };
}

/**
 * The pause after a failure, milliseconds. It doubles from one second; a `Retry-After` of the server takes precedence.
 *
 * @param failures in a row, at least 1
 * @param retryAfter seconds
 */
export function pauseAfterFailure(failures: number, retryAfter: number | null): number {
  const wished = retryAfter === null ? 1000 * 2 ** (failures - 1) : retryAfter * 1000;
  return Math.min(MAX_PAUSE_MS, Math.max(1000, wished));
}
