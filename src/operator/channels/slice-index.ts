import type { ObjectChange } from '../kubernetes/object-cache.ts';
import type { SliceRecord } from '../kubernetes/objects.ts';

/** A Service by its name. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** EndpointSlices by the Service that they belong to. */
export interface SliceIndex {
  of(service: ServiceName): Iterable<SliceRecord>;
  /**
   * Applies all changes, so that no reader sees a Service between two of them.
   *
   * @returns the Services whose slices changed
   */
  apply(changes: readonly ObjectChange<SliceRecord>[]): readonly ServiceName[];
}

export function createSliceIndex(): SliceIndex {
  const slicesOf = new Map<string, Set<SliceRecord>>();
  const keyOf = ({ namespace, name }: ServiceName): string => `${namespace}/${name}`;
  const ownerOf = ({ namespace, service }: SliceRecord): ServiceName => ({ namespace, name: service });

  return {
    of: (service) => slicesOf.get(keyOf(service)) ?? [],
    apply: (changes) => {
      const changed = new Map<string, ServiceName>();
      const put = (slice: SliceRecord | undefined, change: 'add' | 'delete'): void => {
        if (slice === undefined) return;
        const owner = ownerOf(slice);
        const key = keyOf(owner);
        const known = slicesOf.get(key) ?? new Set();
        known[change](slice);
        if (known.size === 0) slicesOf.delete(key);
        else slicesOf.set(key, known);
        changed.set(key, owner);
      };
      for (const { before, after } of changes) {
        put(before, 'delete');
        put(after, 'add');
      }
      return [...changed.values()];
    },
  };
}
