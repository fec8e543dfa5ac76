import type { SliceRecord } from '../kubernetes/objects.ts';
import type { ObjectChange } from '../kubernetes/object-cache.ts';

/** The Services by the pods behind them. */
export interface PodIndex {
  /** The names of the Services that have a pod of these slices; a Service can be named several times. */
  servicesWithPodsOf(slices: Iterable<SliceRecord>): Iterable<string>;
  apply(changes: ReadonlyArray<ObjectChange<SliceRecord>>): void;
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

  return {
    servicesWithPodsOf: function* servicesWithPodsOf(given) {
      for (const { namespace, endpoints } of given)
        for (const { name } of endpoints)
          for (const { service } of slices.get(keyOf(namespace, name)) ?? []) yield service;
    },
    apply: (changes) => {
      for (const { before, after } of changes) {
        put(before, 'delete');
        put(after, 'add');
      }
    },
  };
}
