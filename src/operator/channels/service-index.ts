import type { ObjectChange } from '../kubernetes/object-cache.ts';
import type { SliceRecord } from '../kubernetes/objects.ts';

interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** The objects of each Service. */
export class ServiceIndex<T> {
  readonly #serviceOf: (object: T) => ServiceName | null;
  readonly #objects = new Map<string, Set<T>>();

  /** @param serviceOf the Service that an object belongs to; an object without one is left out */
  constructor(serviceOf: (object: T) => ServiceName | null) {
    this.#serviceOf = serviceOf;
  }

  of(service: ServiceName): Iterable<T> {
    return this.#objects.get(keyOf(service)) ?? [];
  }

  /**
   * Applies all changes, so that no reader sees a Service between two of them.
   *
   * @returns the Services whose objects changed
   */
  apply(changes: readonly ObjectChange<T>[]): readonly ServiceName[] {
    const changed = new Map<string, ServiceName>();
    const put = (object: T | undefined, change: 'add' | 'delete'): void => {
      const service = object === undefined ? null : this.#serviceOf(object);
      if (object === undefined || service === null) return;
      const key = keyOf(service);
      changeSet(this.#objects, key, object, change);
      changed.set(key, service);
    };
    for (const { before, after } of changes) {
      put(before, 'delete');
      put(after, 'add');
    }
    return [...changed.values()];
  }
}

/** The slices of each pod. */
export class PodIndex {
  readonly #slices = new Map<string, Set<SliceRecord>>();

  /** The names of the Services that have a pod of these slices; a Service can be named several times. */
  *servicesWithPodsOf(given: Iterable<SliceRecord>): Iterable<string> {
    for (const { namespace, endpoints } of given)
      for (const { name } of endpoints)
        for (const { service } of this.#slices.get(keyOf({ namespace, name })) ?? []) yield service;
  }

  /** @returns the Services that had a pod in common with a changed slice, which they may have no more */
  apply(changes: ReadonlyArray<ObjectChange<SliceRecord>>): readonly ServiceName[] {
    const former = changes.flatMap(({ before }) =>
      before === undefined
        ? []
        : [...new Set(this.servicesWithPodsOf([before]))].map((name) => ({
            namespace: before.namespace,
            name,
          })),
    );
    for (const { before, after } of changes) {
      this.#put(before, 'delete');
      this.#put(after, 'add');
    }
    return former;
  }

  #put(slice: SliceRecord | undefined, change: 'add' | 'delete'): void {
    if (slice === undefined) return;
    const { namespace } = slice;
    for (const { name } of slice.endpoints)
      changeSet(this.#slices, keyOf({ namespace, name }), slice, change);
  }
}

function keyOf({ namespace, name }: ServiceName): string {
  return `${namespace}/${name}`;
}

/** Adds to a set or deletes from it; an empty set is dropped. */
function changeSet<T>(sets: Map<string, Set<T>>, key: string, item: T, change: 'add' | 'delete'): void {
  const set = sets.get(key) ?? new Set();
  set[change](item);
  if (set.size === 0) sets.delete(key);
  else sets.set(key, set);
}
