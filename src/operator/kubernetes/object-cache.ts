import { z } from 'zod';
import type { Logger } from '../../platform/logging/logging.ts';
import { errorOfEvent } from '../../platform/kubernetes/cluster-connection.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes-error.ts';
import type { WatchEvent } from './collections.ts';

/** How objects are kept. */
export interface ObjectCacheOptions<T> {
  /** Plural name of the kind, for logs. */
  readonly kind: string;
  /** Returns the part of an object to keep. An object for which it throws is left out. */
  readonly parse: (object: unknown) => T;
  /** Called after each change; `undefined` where there is no object before or after it. */
  readonly onChange: (before: T | undefined, after: T | undefined) => void;
  readonly logger: Logger;
}

/** The parsed objects of one collection, by `namespace/name`. */
export interface ObjectCache<T> {
  readonly get: (key: string) => T | undefined;
  readonly values: () => IterableIterator<T>;
  readonly size: number;
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

  const drop = (key: string): void => {
    const before = store.get(key);
    if (before !== undefined && store.delete(key)) onChange(before, undefined);
  };

  const put = (key: string, object: unknown): void => {
    let after: T;
    try {
      after = parse(object);
    } catch (error) {
      logger.warn({ kind, key, err: error }, 'cannot read an object; it is left out');
      drop(key);
      return;
    }
    const before = store.get(key);
    store.set(key, after);
    onChange(before, after);
  };

  return {
    get: (key) => store.get(key),
    values: () => store.values(),
    get size() {
      return store.size;
    },
    replace: (items) => {
      const found = new Map<string, unknown>();
      for (const item of items) found.set(identify(item).key, item);
      for (const [key, item] of found) put(key, item);
      for (const key of store.keys()) if (!found.has(key)) drop(key);
    },
    apply: ({ type, object }) => {
      if (type === 'ERROR') throw errorOfEvent(object);
      if (type === 'BOOKMARK') return BookmarkSchema.parse(object).metadata.resourceVersion;
      const { key, resourceVersion } = identify(object);
      if (type === 'DELETED') drop(key);
      else put(key, object);
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
