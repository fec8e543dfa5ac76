import { z } from 'zod';
import type { Logger } from '../../platform/logging/logging.ts';
import { errorOfEvent } from '../../platform/kubernetes/cluster-connection.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes-error.ts';
import type { WatchEvent } from './collections.ts';

/** One change of a cache; `undefined` where there is no object before or after it. */
export interface ObjectChange<T> {
  readonly before: T | undefined;
  readonly after: T | undefined;
}

export interface ObjectCacheOptions<T> {
  readonly kind: string;
  /** Returns the part of an object to keep. An object for which it throws is left out. */
  readonly parse: (object: unknown) => T;
  /** Called when the cache holds all changes of a list or an event, so that a reader never sees a part of them. */
  readonly onChange: (changes: readonly ObjectChange<T>[]) => void;
  readonly logger: Logger;
}

/** The parsed objects of one collection, by `namespace/name`. */
export interface CachedObjects<T> {
  readonly get: (key: string) => T | undefined;
  /** Whether the collection has the object, also if it cannot be read. */
  readonly exists: (key: string) => boolean;
  readonly values: () => IterableIterator<T>;
  readonly size: number;
}

export interface ObjectCache<T> extends CachedObjects<T> {
  /** Makes the cache equal to a whole list. @throws KubernetesError for an item without metadata */
  replace(items: Iterable<unknown>): void;
  /**
   * Applies one event of a watch.
   *
   * @returns the resource version of the event
   * @throws KubernetesError for an ERROR event, and for an object without metadata
   */
  apply(event: WatchEvent): string;
}

const ObjectSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string().default(''),
    resourceVersion: z.string(),
  }),
});
const BookmarkSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

export function createObjectCache<T>({
  kind,
  parse,
  onChange,
  logger,
}: ObjectCacheOptions<T>): ObjectCache<T> {
  const store = new Map<string, T>();
  const unreadable = new Set<string>();

  const drop = (key: string): readonly ObjectChange<T>[] => {
    unreadable.delete(key);
    const before = store.get(key);
    return before !== undefined && store.delete(key) ? [{ before, after: undefined }] : [];
  };

  const put = (key: string, object: unknown): readonly ObjectChange<T>[] => {
    try {
      const after = parse(object);
      const before = store.get(key);
      store.set(key, after);
      unreadable.delete(key);
      return [{ before, after }];
    } catch (error) {
      logger.warn({ kind, key, err: error }, 'cannot read an object; it is left out');
      const changes = drop(key);
      unreadable.add(key);
      return changes;
    }
  };

  return {
    get: (key) => store.get(key),
    exists: (key) => store.has(key) || unreadable.has(key),
    values: () => store.values(),
    get size() {
      return store.size;
    },
    replace: (items) => {
      const found = new Map<string, unknown>();
      for (const item of items) found.set(identify(item).key, item);
      const gone = [...store.keys(), ...unreadable].filter((key) => !found.has(key));
      const changes = [...[...found].flatMap(([key, item]) => put(key, item)), ...gone.flatMap(drop)];
      if (changes.length > 0) onChange(changes);
    },
    apply: ({ type, object }) => {
      if (type === 'ERROR') throw errorOfEvent(object);
      if (type === 'BOOKMARK') return BookmarkSchema.parse(object).metadata.resourceVersion;
      const { key, resourceVersion } = identify(object);
      const changes = type === 'DELETED' ? drop(key) : put(key, object);
      if (changes.length > 0) onChange(changes);
      return resourceVersion;
    },
  };
}

function identify(object: unknown): { readonly key: string; readonly resourceVersion: string } {
  const parsed = ObjectSchema.safeParse(object);
  if (!parsed.success) throw new KubernetesError(502, 'InvalidAnswer', 'an object has no metadata');
  const { namespace, name, resourceVersion } = parsed.data.metadata;
  return { key: `${namespace}/${name}`, resourceVersion };
}
