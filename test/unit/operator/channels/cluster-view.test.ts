import { describe, expect, it, onTestFinished } from 'vitest';
import { createClusterView, type ClusterView } from '../../../../src/operator/channels/cluster-view.ts';
import type { Collection, Collections, WatchEvent } from '../../../../src/operator/kubernetes/collections.ts';
import { KubernetesError } from '../../../../src/platform/kubernetes/kubernetes-error.ts';
import { createLogger } from '../../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

/** A collection whose list and events a test sets. */
interface FedCollection {
  readonly collection: Collection;
  items: readonly object[];
  send(event: WatchEvent): void;
  /** Ends the watch, so that the collection is listed again. */
  expire(): void;
}

function fedCollection(kind: string): FedCollection {
  const queue: Array<WatchEvent | Error> = [];
  let wake = (): void => undefined;
  const put = (item: WatchEvent | Error): void => {
    queue.push(item);
    wake();
  };
  const fed: FedCollection = {
    items: [],
    collection: {
      kind,
      list: async () => ({ resourceVersion: '10', items: fed.items, next: null }),
      watch: async function* watch(_query, signal, onOpen) {
        onOpen();
        signal.addEventListener('abort', () => {
          put(new Error('aborted'));
        });
        for (;;) {
          const item = queue.shift();
          if (item instanceof Error) throw item;
          if (item !== undefined) yield item;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      },
    },
    send: put,
    expire: () => {
      put(new KubernetesError(410, 'Expired', 'too old'));
    },
  };
  return fed;
}

function slice(name: string, pods: readonly string[], service = 'slipway'): object {
  return {
    metadata: {
      name,
      namespace: 'ns',
      resourceVersion: '11',
      labels: { 'kubernetes.io/service-name': service },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: pods.map((pod) => ({
      addresses: ['10.0.0.1'],
      conditions: { ready: true },
      targetRef: { name: pod },
    })),
  };
}

/** A view of one Service, and the pods that were behind it at each notice. */
async function followed(items: readonly object[]): Promise<{
  readonly slices: FedCollection;
  readonly seen: string[];
  /** The Services with a pod of `slipway` at each notice. */
  readonly shared: string[];
  readonly settle: () => Promise<void>;
}> {
  const clock = new FakeClock();
  const slices = fedCollection('endpointslices');
  slices.items = items;
  const collections: Collections = {
    channels: () => fedCollection('releasechannels').collection,
    services: () => fedCollection('services').collection,
    endpointSlices: () => slices.collection,
  };
  const seen: string[] = [];
  const shared: string[] = [];
  const podsOf = (view: ClusterView, service: string): string =>
    [...view.slices('ns', service)]
      .flatMap(({ endpoints }) => endpoints.map(({ name }) => name))
      .sort()
      .join(' ');
  const view = createClusterView({
    collections,
    namespaces: ['ns'],
    silentMs: 60_000,
    clock,
    random: () => 1,
    logger: createLogger({ name: 'test', level: 'error' }),
    onTurn: () => undefined,
    onChannel: () => undefined,
    onService: (_namespace, name) => {
      seen.push(`${name}: ${podsOf(view, name)}`);
      shared.push([...view.servicesWithPodsOf('ns', 'slipway')].sort().join(' '));
    },
  });
  onTestFinished(async () => {
    await view.stop();
  });
  view.start();
  const settle = async (): Promise<void> => {
    for (let round = 0; round < 5; round += 1) await clock.advance(0);
  };
  await settle();
  return { slices, seen, shared, settle };
}

describe('a view of the cluster', () => {
  it('knows which Services have pods in common, while they have them', async () => {
    const { slices, shared, settle } = await followed([
      slice('one', ['a', 'b']),
      slice('two', ['b'], 'slipway-admin'),
      slice('three', ['c'], 'other'),
    ]);
    expect(shared.at(-1)).toBe('slipway slipway-admin');
    slices.send({ type: 'MODIFIED', object: slice('one', ['a', 'c']) });
    await settle();
    expect(shared.at(-1)).toBe('other slipway');
    slices.send({ type: 'DELETED', object: slice('three', ['c'], 'other') });
    await settle();
    expect(shared.at(-1)).toBe('slipway');
  });

  it('reports a Service that shared a pod with a changed one until now', async () => {
    const { slices, seen, settle } = await followed([
      slice('one', ['a', 'b']),
      slice('two', ['b'], 'slipway-admin'),
      slice('three', ['c'], 'other'),
    ]);
    const before = seen.length;
    slices.send({ type: 'MODIFIED', object: slice('one', ['a']) });
    await settle();
    expect(seen.slice(before).sort()).toEqual(['slipway-admin: b', 'slipway: a']);
  });

  it('has the new pods of a Service before it reports the change', async () => {
    const { slices, seen, settle } = await followed([slice('one', ['a', 'b'])]);
    slices.send({ type: 'MODIFIED', object: slice('one', ['a', 'b', 'c']) });
    await settle();
    expect(seen).toEqual(['slipway: a b', 'slipway: a b c']);
  });

  it('has a whole list before it reports any of it', async () => {
    const { slices, seen, settle } = await followed([slice('one', ['a', 'b'])]);
    // The pods have moved to another slice while the watch was lost.
    slices.items = [slice('one', []), slice('two', ['a', 'b'])];
    slices.expire();
    await settle();
    expect(seen).toEqual(['slipway: a b', 'slipway: a b']);
  });

  it('reports both Services of a slice that has moved', async () => {
    const { slices, seen, settle } = await followed([slice('one', ['a'])]);
    slices.send({ type: 'MODIFIED', object: slice('one', ['a'], 'other') });
    await settle();
    expect(seen.slice(1)).toEqual(['slipway: ', 'other: a']);
  });
});
