/** Requests one report repeatedly: at a fixed pace while it is answered, more and more slowly while it fails. */

import { ApiFailure } from './api-client.js';

/** Longest pause between two requests, milliseconds. */
const MAX_PAUSE_MS = 30_000;

/**
 * @template T
 * @typedef {object} FeedState
 * @property {T | null} value the last answer; a later failure does not clear it
 * @property {number | null} loadedAt time of that answer, milliseconds
 * @property {ApiFailure | null} failure of the last request, `null` if it succeeded
 * @property {number | null} nextAt time of the next request, milliseconds; `null` during one or if none will follow
 */

/**
 * @template T
 * @typedef {object} Feed
 * @property {FeedState<T>} state
 * @property {() => void} start
 * @property {() => void} stop
 * @property {() => void} refresh sends a request now
 */

/** @type {FeedState<never>} */
export const EMPTY_FEED = { value: null, loadedAt: null, failure: null, nextAt: null };

/**
 * @template T
 * @param {object} parts
 * @param {(signal: AbortSignal) => Promise<T>} parts.load throws ApiFailure
 * @param {(value: T) => number} parts.pauseAfter milliseconds until the next request after a success
 * @param {() => void} parts.onChange called after every change of the state
 * @param {Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'>} [parts.timers]
 * @param {() => number} [parts.now] milliseconds
 * @returns {Feed<T>}
 */
export function createFeed({ load, pauseAfter, onChange, timers = globalThis, now = Date.now }) {
  /** @type {Feed<T>} */
  const feed = { state: EMPTY_FEED, start, stop, refresh };
  /** @type {AbortController | null} */
  let running = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let failures = 0;

  function start() {
    if (running !== null) return;
    running = new AbortController();
    void ask(running.signal);
  }

  function stop() {
    timers.clearTimeout(timer);
    running?.abort();
    running = null;
  }

  function refresh() {
    if (running === null) return;
    stop();
    start();
  }

  /** @param {AbortSignal} signal */
  async function ask(signal) {
    feed.state = { ...feed.state, nextAt: null };
    let pause;
    try {
      const value = await load(signal);
      if (signal.aborted) return;
      failures = 0;
      pause = pauseAfter(value);
      feed.state = { value, loadedAt: now(), failure: null, nextAt: now() + pause };
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof ApiFailure ? error : new ApiFailure(String(error));
      failures += 1;
      pause = pauseAfterFailure(failures, failure.retryAfter);
      feed.state = { ...feed.state, failure, nextAt: now() + pause };
    }
    timer = timers.setTimeout(() => void ask(signal), pause);
    onChange();
  }

  return feed;
}

/**
 * Doubles from one second; a `Retry-After` of the server takes precedence.
 *
 * @param {number} failures in a row, at least 1
 * @param {number | null} retryAfter seconds
 * @returns {number} milliseconds
 */
export function pauseAfterFailure(failures, retryAfter) {
  const wished = retryAfter === null ? 1000 * 2 ** (failures - 1) : retryAfter * 1000;
  return Math.min(MAX_PAUSE_MS, Math.max(1000, wished));
}
