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

export interface FeedPool {
  /** Runs exactly these feeds. */
  want(requests: readonly FeedRequest[]): void;
  /** The state of a feed, empty if there is none. A component that reads it is drawn again when it changes. */
  state<T>(key: string): FeedState<T>;
  /** Requests all of them now, or the one with this key. */
  refresh(key?: string): void;
  setAwake(awake: boolean): void;
  /** Forgets everything. */
  clear(): void;
}

/** @param onChange called after every answer and every failure of a feed */
export function createFeedPool(onChange: () => void): FeedPool {
  const feeds = signal<ReadonlyMap<string, Feed<unknown>>>(new Map());
  let wanted: ReadonlySet<string> = new Set();
  let awake = true;

  const settle = (): void => {
    for (const [key, feed] of feeds.peek()) {
      if (awake && wanted.has(key)) feed.start();
      else feed.stop();
    }
    const kept = [...feeds.peek()].filter(([key]) => wanted.has(key) || !key.includes(':'));
    if (kept.length !== feeds.peek().size) feeds.value = new Map(kept);
  };

  return {
    want: (requests) => {
      wanted = new Set(requests.map(({ key }) => key));
      const missing = requests.filter(({ key }) => !feeds.peek().has(key));
      if (missing.length > 0) {
        const made = missing.map(
          ({ key, load, pauseAfter }) => [key, createFeed({ load, pauseAfter, onChange })] as const,
        );
        feeds.value = new Map([...feeds.peek(), ...made]);
      }
      settle();
    },
    state: <T>(key: string) => (feeds.value.get(key)?.state.value ?? EMPTY_FEED) as FeedState<T>,
    refresh: (wantedKey) => {
      for (const [key, feed] of feeds.peek()) {
        if (wantedKey === undefined || key === wantedKey) feed.refresh();
      }
    },
    setAwake: (next) => {
      awake = next;
      settle();
    },
    clear: () => {
      for (const feed of feeds.peek().values()) feed.stop();
      feeds.value = new Map();
      wanted = new Set();
    },
  };
}
