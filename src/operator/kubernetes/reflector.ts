import { backoffMs } from '../../platform/process/backoff.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { pause } from '../../platform/process/pause.ts';
import { hasStatus, retryAfterOf } from '../../platform/kubernetes/kubernetes-error.ts';
import type { Collection } from './collections.ts';
import {
  createObjectCache,
  type CachedObjects,
  type ObjectCache,
  type ObjectCacheOptions,
} from './object-cache.ts';

/** Why a reflector lists again or opens another watch; a metric label. */
export const REFLECTOR_TURNS = ['listed', 'expired', 'ended', 'silent', 'failed'] as const;

export type ReflectorTurn = (typeof REFLECTOR_TURNS)[number];

interface ReflectorOptions<T> extends Omit<ObjectCacheOptions<T>, 'kind'> {
  readonly collection: Collection;
  readonly onTurn: (turn: ReflectorTurn) => void;
  readonly clock: Clock;
  readonly random: () => number;
  /** A connection that brings nothing for so long, not even a bookmark, is considered dead. */
  readonly silentMs: number;
}

export interface Reflector<T> extends CachedObjects<T> {
  start(): void;
  /** Whether the whole collection was read once, and the problem that keeps it from being followed, or `null`. */
  state(): { readonly synced: boolean; readonly trouble: string | null };
  stop(): Promise<void>;
}

const PAGE_SIZE = 500;
const BACKOFF = { baseMs: 500, capMs: 30_000 };
/** A shorter watch counts as a failure, or a broken server would be called in a tight loop. */
const SHORTEST_WATCH_MS = 1_000;
/** The API server ends a watch after this time, plus up to as much again, so that watches move between its replicas. */
const WATCH_SECONDS = 240;

interface Progress {
  synced: boolean;
  trouble: string | null;
  failures: number;
  /** Expirations in a row without an event in between. */
  expirations: number;
}

/**
 * Makes a reflector. It lists in pages, then watches from there with bookmarks. It lists again when the API server no
 * longer knows the version (410, as an answer or as an event) and when a watch is silent for too long. After any other
 * end the watch continues from the last version. Failures are retried after a growing, jittered pause, never shorter
 * than the API server asks for.
 *
 * Source: Kubernetes documentation, "Efficient detection of changes"; client-go tools/cache/reflector.go.
 */
export function createReflector<T>(options: ReflectorOptions<T>): Reflector<T> {
  const { collection, clock, logger } = options;
  const { kind } = collection;
  const stopping = new AbortController();
  const cache = createObjectCache({ kind, parse: options.parse, onChange: options.onChange, logger });
  const progress: Progress = { synced: false, trouble: null, failures: 0, expirations: 0 };
  let loop: Promise<void> = Promise.resolve();

  const report = (error: unknown): void => {
    const problem = describeTrouble(kind, error);
    const isNew = progress.trouble !== problem;
    progress.trouble = problem;
    if (!isNew) return;
    if (hasStatus(error, 403)) logger.error({ kind }, problem);
    else logger.warn({ kind, err: error }, problem);
  };

  const run = async (): Promise<void> => {
    let version: string | null = null;
    while (!stopping.signal.aborted) {
      try {
        if (version === null) {
          version = await list(collection, cache, stopping.signal);
          options.onTurn('listed');
          if (progress.trouble !== null) logger.info({ kind, objects: cache.size }, 'listed again');
          Object.assign(progress, { synced: true, trouble: null, failures: 0 });
        }
        version = await follow(options, cache, progress, version, stopping.signal);
      } catch (error) {
        if (stopping.signal.aborted) return;
        const cause = error instanceof WatchFailed ? error.cause : error;
        version = error instanceof WatchFailed ? error.version : null;
        options.onTurn('failed');
        progress.failures += 1;
        report(cause);
        const wait = backoffMs(progress.failures, BACKOFF, options.random(), retryAfterOf(cause));
        await pause(clock, wait, stopping.signal);
      }
    }
  };

  return {
    get: cache.get,
    exists: cache.exists,
    values: cache.values,
    get size() {
      return cache.size;
    },
    start: () => {
      loop = run();
    },
    state: () => ({ synced: progress.synced, trouble: progress.trouble }),
    stop: async () => {
      stopping.abort(new Error('the reflector is stopped'));
      await loop;
    },
  };
}

/** Reads all pages and then replaces the cache. @returns the version to watch from */
async function list(
  collection: Collection,
  cache: ObjectCache<unknown>,
  signal: AbortSignal,
): Promise<string> {
  const items: unknown[] = [];
  let after: string | null = null;
  for (;;) {
    const page = await collection.list({ limit: PAGE_SIZE, after }, signal);
    for (const item of page.items) items.push(item);
    after = page.next;
    if (after === null) {
      cache.replace(items);
      return page.resourceVersion;
    }
  }
}

/**
 * Follows one watch to its end.
 *
 * @returns the version reached; `null` when the collection must be listed again
 * @throws WatchFailed when the watch broke off or was too short
 */
async function follow<T>(
  options: ReflectorOptions<T>,
  cache: ObjectCache<T>,
  progress: Progress,
  from: string,
  stopping: AbortSignal,
): Promise<string | null> {
  const { collection, clock, logger, silentMs } = options;
  const begunAt = clock.monotonic();
  const watchdog = startWatchdog(clock, silentMs, stopping);
  let version = from;
  try {
    const seconds = Math.round(WATCH_SECONDS * (1 + options.random()));
    const query = {
      resourceVersion: version,
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(seconds),
    };
    const onOpen = (): void => {
      watchdog.heard();
      progress.trouble = null;
    };
    for await (const event of collection.watch(query, watchdog.signal, onOpen)) {
      watchdog.heard();
      version = cache.apply(event);
      Object.assign(progress, { failures: 0, expirations: 0 });
    }
  } catch (error) {
    if (stopping.aborted) throw error;
    if (hasStatus(error, 410)) {
      options.onTurn('expired');
      progress.expirations += 1;
      // One expiration is normal. A server that expires every watch must not be called in a tight loop.
      const again = progress.expirations - 1;
      if (again > 0) await pause(clock, backoffMs(again, BACKOFF, options.random(), null), stopping);
      return null;
    }
    if (!watchdog.isSilent()) throw new WatchFailed(version, error);
    logger.warn({ kind: collection.kind, silent_ms: silentMs }, 'a watch is silent; listing again');
    options.onTurn('silent');
    return null;
  } finally {
    await watchdog.end();
  }
  options.onTurn('ended');
  if (clock.monotonic() - begunAt < SHORTEST_WATCH_MS) {
    throw new WatchFailed(version, new Error('the API server ended the watch immediately'));
  }
  return version;
}

class WatchFailed extends Error {
  readonly version: string;

  constructor(version: string, cause: unknown) {
    super('the watch failed', { cause });
    this.name = 'WatchFailed';
    this.version = version;
  }
}

interface Watchdog {
  readonly signal: AbortSignal;
  readonly heard: () => void;
  readonly isSilent: () => boolean;
  readonly end: () => Promise<void>;
}

function startWatchdog(clock: Clock, silentMs: number, stopping: AbortSignal): Watchdog {
  const silence = new AbortController();
  const ended = new AbortController();
  let heardAt = clock.monotonic();
  const guard = async (): Promise<void> => {
    const asleep = AbortSignal.any([stopping, ended.signal]);
    for (let left = silentMs; left > 0; left = heardAt + silentMs - clock.monotonic()) {
      await clock.sleep(left, asleep);
    }
    silence.abort(new Error('the watch is silent'));
  };
  const guarding = guard().catch(() => undefined);
  return {
    signal: AbortSignal.any([stopping, silence.signal]),
    heard: () => {
      heardAt = clock.monotonic();
    },
    isSilent: () => silence.signal.aborted,
    end: async () => {
      ended.abort(new Error('the watch has ended'));
      await guarding;
    },
  };
}

function describeTrouble(kind: string, error: unknown): string {
  if (hasStatus(error, 403)) {
    return `no permission to list and watch ${kind}: grant the operator list and watch on it`;
  }
  if (hasStatus(error, 404)) return `the API server does not know ${kind}: install its definition`;
  if (hasStatus(error, 401)) return `the API server rejects the operator's credentials (${kind})`;
  if (hasStatus(error, 429)) return `the API server is overloaded; requests for ${kind} slow down`;
  return `cannot follow ${kind} now`;
}
