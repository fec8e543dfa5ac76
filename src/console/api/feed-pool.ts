/** The feeds of the page that is shown. All other feeds pause, and every feed pauses while the page is hidden. */

import { createFeed, EMPTY_FEED } from './live-feed.js';

/** @import { Feed, FeedState } from './live-feed.js' */

/**
 * @typedef {object} FeedRequest
 * @property {string} key names the feed; one with a colon is forgotten when it is no longer wanted
 * @property {(signal: AbortSignal) => Promise<unknown>} load
 * @property {(value: any) => number} pauseAfter milliseconds; `any` because a pool holds feeds of every kind
 *
 * @typedef {object} FeedPool
 * @property {(requests: readonly FeedRequest[]) => void} want runs exactly these feeds
 * @property {(key: string) => FeedState<any>} state
 * @property {() => void} refresh requests all of them now
 * @property {(awake: boolean) => void} setAwake
 * @property {() => void} clear forgets everything
 */

/**
 * @param {() => void} onChange
 * @returns {FeedPool}
 */
export function createFeedPool(onChange) {
  /** @type {Map<string, Feed<unknown>>} */
  const feeds = new Map();
  /** @type {ReadonlySet<string>} */
  let wanted = new Set();
  let awake = true;

  const settle = () => {
    for (const [key, feed] of feeds) {
      if (awake && wanted.has(key)) feed.start();
      else feed.stop();
      if (!wanted.has(key) && key.includes(':')) feeds.delete(key);
    }
  };

  return {
    want: (requests) => {
      wanted = new Set(requests.map(({ key }) => key));
      for (const { key, load, pauseAfter } of requests) {
        if (!feeds.has(key)) feeds.set(key, createFeed({ load, pauseAfter, onChange }));
      }
      settle();
    },
    state: (key) => feeds.get(key)?.state ?? EMPTY_FEED,
    refresh: () => {
      for (const feed of feeds.values()) feed.refresh();
    },
    setAwake: (next) => {
      awake = next;
      settle();
    },
    clear: () => {
      for (const feed of feeds.values()) feed.stop();
      feeds.clear();
      wanted = new Set();
    },
  };
}
