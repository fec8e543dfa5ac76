import type { ObjectChange } from '../kubernetes/object-cache.ts';
import type { SliceRecord } from '../kubernetes/objects.ts';

interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

interface ServiceIndex<T> {
  of(service: ServiceName): Iterable<T>;
  /**
   * Applies all changes, so that no reader sees a Service between two of them.
   *
   * @returns the Services whose objects changed
   */
  apply(changes: readonly ObjectChange<T>[]): readonly ServiceName[];
}

/** @param serviceOf the Service that an object belongs to; an object without one is left out */
export function createServiceIndex<T>(serviceOf: (object: T) => ServiceName | null): ServiceIndex<T> {
  const objects = new Map<string, Set<T>>();
  const keyOf = ({ namespace, name }: ServiceName): string => `${namespace}/${name}`;

  return {
    of: (service) => objects.get(keyOf(service)) ?? [],
    apply: (changes) => {
      const changed = new Map<string, ServiceName>();
      const put = (object: T | undefined, change: 'add' | 'delete'): void => {
        if (object === undefined) return;
        const service = serviceOf(object);
        if (service === null) return;
        const key = keyOf(service);
        const known = objects.get(key) ?? new Set();
        known[change](object);
        if (known.size === 0) objects.delete(key);
        else objects.set(key, known);
        changed.set(key, service);
      };
      for (const { before, after } of changes) {
        put(before, 'delete');
        put(after, 'add');
      }
      return [...changed.values()];
    },
  };
}

interface PodIndex {
  /** The names of the Services that have a pod of these slices; a Service can be named several times. */
  servicesWithPodsOf(slices: Iterable<SliceRecord>): Iterable<string>;
  /** @returns the Services that had a pod in common with a changed slice, which they may have no more */
  apply(changes: ReadonlyArray<ObjectChange<SliceRecord>>): readonly ServiceName[];
}

/** Makes an index without pods. */
export function createPodIndex(): PodIndex {
  const slices = new Map<string, Set<SliceRecord>>();
  const keyOf = (namespace: string, pod: string): string => `${namespace}/${pod}`;

  const put = (slice: SliceRecord | undefined, change: 'add' | 'delete'): void => {
    if (slice === undefined) return;
    for (const { name } of slice.endpoints) {
      const key = keyOf(slice.namespace, name);
      const known = slices.get(key) ?? new Set();
      known[change](slice);
      if (known.size === 0) slices.delete(key);
      else slices.set(key, known);
    }
  };

  const servicesWithPodsOf = function* servicesWithPodsOf(given: Iterable<SliceRecord>): Iterable<string> {
    for (const { namespace, endpoints } of given)
      for (const { name } of endpoints)
        for (const { service } of slices.get(keyOf(namespace, name)) ?? []) yield service;
  };

  return {
    servicesWithPodsOf,
    apply: (changes) => {
      const former = changes.flatMap(({ before }) =>
        before === undefined
          ? []
          : [...new Set(servicesWithPodsOf([before]))].map((name) => ({ namespace: before.namespace, name })),
      );
      for (const { before, after } of changes) {
        put(before, 'delete');
        put(after, 'add');
      }
      return former;
    },
  };
}
