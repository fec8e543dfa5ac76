/** The feeds of the page that is shown. All other feeds pause, and every feed pauses while the page is hidden. */

import { signal } from '@preact/signals';
import { createFeed, EMPTY_FEED, type Feed, type FeedState } from './live-feed.ts';

export interface FeedRequest {
  /** Names the feed; one with a colon is forgotten when it is no longer wanted. */
  readonly key: string;
  readonly load: (signal: AbortSignal) => Promise<unknown>;
  /** Milliseconds. A pool holds feeds of every kind, and each request knows its own. */
  readonly pauseAfter: (value: unknown) => number;
}

export class FeedPool {
  readonly #feeds = signal<ReadonlyMap<string, Feed<unknown>>>(new Map());
  readonly #onChange: () => void;
  #wanted: ReadonlySet<string> = new Set();
  #isAwake = true;

  /** @param onChange called after every answer and every failure of a feed */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  want(requests: readonly FeedRequest[]): void {
    this.#wanted = new Set(requests.map(({ key }) => key));
    const missing = requests.filter(({ key }) => !this.#feeds.peek().has(key));
    if (missing.length > 0) {
      const onChange = this.#onChange;
      const made = missing.map(
        ({ key, load, pauseAfter }) => [key, createFeed({ load, pauseAfter, onChange })] as const,
      );
      this.#feeds.value = new Map([...this.#feeds.peek(), ...made]);
    }
    this.#settle();
  }

  /** The state of a feed, empty if there is none. A component that reads it is drawn again when it changes. */
  state<T>(key: string): FeedState<T> {
    return (this.#feeds.value.get(key)?.state.value ?? EMPTY_FEED) as FeedState<T>;
  }

  refresh(wanted?: string): void {
    for (const [key, feed] of this.#feeds.peek()) if (wanted === undefined || key === wanted) feed.refresh();
  }

  setAwake(isAwake: boolean): void {
    this.#isAwake = isAwake;
    this.#settle();
  }

  clear(): void {
    for (const feed of this.#feeds.peek().values()) feed.stop();
    this.#feeds.value = new Map();
    this.#wanted = new Set();
  }

  #settle(): void {
    const feeds = this.#feeds.peek();
    for (const [key, feed] of feeds) {
      if (this.#isAwake && this.#wanted.has(key)) feed.start();
      else feed.stop();
    }
    const kept = [...feeds].filter(([key]) => this.#wanted.has(key) || !key.includes(':'));
    if (kept.length !== feeds.size) this.#feeds.value = new Map(kept);
  }
}
