import type { ObjectChange } from '../kubernetes/object-cache.ts';

/** A Service by its name. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** Objects by the Service that they belong to. */
export interface ServiceIndex<T> {
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
