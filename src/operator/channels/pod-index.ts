import type { SliceRecord } from '../kubernetes/objects.ts';
import type { ObjectChange } from '../kubernetes/object-cache.ts';
import type { ServiceName } from './service-index.ts';

/** The Services by the pods behind them. */
export interface PodIndex {
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
