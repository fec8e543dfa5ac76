import { z } from 'zod';
import { backoffMs } from '../../platform/process/backoff.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { KubernetesClient, WatchEvent } from './kubernetes-client.ts';
import { errorOfEvent } from './kubernetes-client.ts';
import { hasStatus, KubernetesError, retryAfterOf } from './kubernetes-error.ts';

/** Why a reflector lists again or opens another watch; a metric label. */
export type ReflectorTurn = 'listed' | 'expired' | 'ended' | 'silent' | 'failed';

/** What a reflector follows. */
export interface ReflectorOptions<T> {
  readonly client: Pick<KubernetesClient, 'call' | 'watch'>;
  /** Name of the kind, for logs and readiness. */
  readonly kind: string;
  /** Path of the collection. */
  readonly path: string;
  /** The part of an object that is kept. One that it throws at is as if it were not there. */
  readonly parse: (object: unknown) => T;
  /** Called after the cache has changed; `undefined` for what was or is not there. */
  readonly onChange: (before: T | undefined, after: T | undefined) => void;
  readonly onTurn: (turn: ReflectorTurn) => void;
  readonly clock: Clock;
  /** 0 (inclusive) to 1, for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  /** Nothing heard for so long, not even a bookmark: the connection is taken for dead. */
  readonly silentMs: number;
}

/** A copy of one collection that follows it. */
export interface Reflector<T> {
  start(): void;
  /** Whether the whole collection has been read once, and `null` or what keeps it from being followed now. */
  state(): { readonly synced: boolean; readonly trouble: string | null };
  /** @param key `namespace/name` */
  get(key: string): T | undefined;
  values(): IterableIterator<T>;
  readonly size: number;
  stop(): Promise<void>;
}

const PAGE_SIZE = '500';
const BACKOFF = { baseMs: 500, capMs: 30_000 };
/** A watch that ends sooner is taken for a failure, or a broken server would be asked without a pause. */
const SHORTEST_WATCH_MS = 1_000;
/** The API server ends a watch after this time, so that watches move between its replicas; plus up to as much again. */
const WATCH_SECONDS = 240;

const Meta = z.object({
  name: z.string(),
  namespace: z.string().default(''),
  resourceVersion: z.string(),
});
const ObjectSchema = z.object({ metadata: Meta });
const ListSchema = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(z.unknown()).nullable(),
});

/**
 * Makes a reflector: it lists in pages, then watches from there with bookmarks. It lists again when the API server no
 * longer knows the version (410, as an answer or as an event) and when nothing was heard for too long; after any other
 * end the watch goes on where it was. Failures are repeated with a growing, jittered pause, never shorter than what the
 * API server asks for.
 *
 * Source: Kubernetes documentation, "Efficient detection of changes"; client-go tools/cache/reflector.go.
 */
export function createReflector<T>(options: ReflectorOptions<T>): Reflector<T> {
  const { client, kind, clock, logger } = options;
  const stopping = new AbortController();
  const store = new Map<string, T>();
  let synced = false;
  let trouble: string | null = null;
  let failures = 0;
  /** Expirations in a row without anything heard in between. */
  let expirations = 0;
  let loop: Promise<void> = Promise.resolve();

  const put = (key: string, object: unknown): void => {
    let after: T;
    try {
      after = options.parse(object);
    } catch (error) {
      logger.warn({ kind, key, err: error }, 'an object cannot be read; it is left out');
      drop(key);
      return;
    }
    const before = store.get(key);
    store.set(key, after);
    options.onChange(before, after);
  };

  const drop = (key: string): void => {
    const before = store.get(key);
    if (before !== undefined && store.delete(key)) options.onChange(before, undefined);
  };

  /** Reads every page and then makes the cache equal; returns the version to watch from. */
  const list = async (): Promise<string> => {
    const found = new Map<string, unknown>();
    let token: string | undefined;
    for (;;) {
      const page = ListSchema.parse(
        await client.call({
          method: 'GET',
          path: options.path,
          query: { limit: PAGE_SIZE, ...(token === undefined ? {} : { continue: token }) },
          signal: stopping.signal,
        }),
      );
      for (const item of page.items ?? []) found.set(keyOf(item).key, item);
      token = page.metadata.continue;
      if (token === undefined || token === '') {
        for (const [key, item] of found) put(key, item);
        for (const key of store.keys()) if (!found.has(key)) drop(key);
        return page.metadata.resourceVersion;
      }
    }
  };

  /** Follows one watch to its end; returns the version reached, `null` when only a list helps. */
  const follow = async (from: string): Promise<string | null> => {
    let version = from;
    const quiet = new AbortController();
    const signal = AbortSignal.any([stopping.signal, quiet.signal]);
    let heardAt = clock.monotonic();
    const watchdog = watchSilence(clock, options.silentMs, () => heardAt, quiet, signal);
    const begunAt = heardAt;
    try {
      const seconds = Math.round(WATCH_SECONDS * (1 + options.random()));
      const query = {
        resourceVersion: version,
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(seconds),
      };
      const onOpen = (): void => {
        heardAt = clock.monotonic();
        trouble = null;
      };
      for await (const event of client.watch(options.path, query, signal, onOpen)) {
        heardAt = clock.monotonic();
        version = apply(event);
        [failures, expirations] = [0, 0];
      }
    } catch (error) {
      if (stopping.signal.aborted) throw error;
      if (hasStatus(error, 410)) {
        options.onTurn('expired');
        expirations += 1;
        // Once is usual; a server that forgets at once must not be asked in a tight loop.
        if (expirations > 1) await pause(backoffMs(expirations - 1, BACKOFF, options.random(), null));
        return null;
      }
      if (!quiet.signal.aborted) throw new WatchFailed(version, error);
      logger.warn({ kind, silent_ms: options.silentMs }, 'nothing was heard of a watch: listing again');
      options.onTurn('silent');
      return null;
    } finally {
      quiet.abort();
      await watchdog;
    }
    options.onTurn('ended');
    if (clock.monotonic() - begunAt < SHORTEST_WATCH_MS) {
      throw new WatchFailed(version, new Error('the API server ended the watch at once'));
    }
    return version;
  };

  const apply = ({ type, object }: WatchEvent): string => {
    if (type === 'ERROR') throw errorOfEvent(object);
    if (type === 'BOOKMARK') return BookmarkSchema.parse(object).metadata.resourceVersion;
    const { key, resourceVersion } = keyOf(object);
    if (type === 'DELETED') drop(key);
    else put(key, object);
    return resourceVersion;
  };

  /** Waits, or less when the reflector is stopped. */
  const pause = async (ms: number): Promise<void> => {
    await clock.sleep(ms, stopping.signal).catch(() => undefined);
  };

  const run = async (): Promise<void> => {
    let version: string | null = null;
    while (!stopping.signal.aborted) {
      try {
        if (version === null) {
          version = await list();
          options.onTurn('listed');
          if (trouble !== null) logger.info({ kind, objects: store.size }, 'listed again');
          [synced, trouble, failures] = [true, null, 0];
        }
        version = await follow(version);
      } catch (error) {
        if (stopping.signal.aborted) return;
        const cause = error instanceof WatchFailed ? error.cause : error;
        version = error instanceof WatchFailed ? error.version : null;
        options.onTurn('failed');
        failures += 1;
        tell(cause);
        const wait = backoffMs(failures, BACKOFF, options.random(), retryAfterOf(cause));
        await pause(wait);
      }
    }
  };

  /** One line per trouble, not one per attempt. */
  const tell = (error: unknown): void => {
    const said = describeTrouble(kind, error);
    const isNew = trouble !== said;
    trouble = said;
    if (!isNew) return;
    if (hasStatus(error, 403)) logger.error({ kind }, said);
    else logger.warn({ kind, err: error }, said);
  };

  return {
    start: () => {
      loop = run();
    },
    state: () => ({ synced, trouble }),
    get: (key) => store.get(key),
    values: () => store.values(),
    get size() {
      return store.size;
    },
    stop: async () => {
      stopping.abort(new Error('the reflector is stopped'));
      await loop;
    },
  };
}

const BookmarkSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

/** A watch that broke off, and the version up to which it was followed. */
class WatchFailed extends Error {
  readonly version: string;

  constructor(version: string, cause: unknown) {
    super('the watch failed', { cause });
    this.name = 'WatchFailed';
    this.version = version;
  }
}

function keyOf(object: unknown): { readonly key: string; readonly resourceVersion: string } {
  const parsed = ObjectSchema.safeParse(object);
  if (!parsed.success) throw new KubernetesError(502, 'InvalidAnswer', 'an object without metadata');
  const { namespace, name, resourceVersion } = parsed.data.metadata;
  return { key: `${namespace}/${name}`, resourceVersion };
}

/** Aborts `quiet` when nothing was heard for `silentMs`; ends with the signal. */
async function watchSilence(
  clock: Clock,
  silentMs: number,
  heardAt: () => number,
  quiet: AbortController,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const left = heardAt() + silentMs - clock.monotonic();
    if (left <= 0) {
      quiet.abort(new Error('nothing was heard of the watch'));
      return;
    }
    try {
      await clock.sleep(left, signal);
    } catch {
      return;
    }
  }
}

function describeTrouble(kind: string, error: unknown): string {
  if (hasStatus(error, 403)) {
    return `no permission to list and watch ${kind}: grant the operator list and watch on it`;
  }
  if (hasStatus(error, 404)) return `the API server does not know ${kind}: install its definition`;
  if (hasStatus(error, 401)) return `the API server refuses the operator's credentials (${kind})`;
  if (hasStatus(error, 429)) return `the API server is overloaded; ${kind} are asked for less often`;
  return `${kind} cannot be followed now`;
}
