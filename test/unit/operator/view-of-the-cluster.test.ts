import { describe, expect, it, onTestFinished } from 'vitest';
import { createClusterView, type ClusterView } from '../../../src/operator/channels/cluster-view.ts';
import type {
  Collection,
  CollectionPage,
  Collections,
  WatchEvent,
} from '../../../src/operator/kubernetes/collections.ts';
import { parseSlice } from '../../../src/operator/kubernetes/objects.ts';
import { createReflector, type Reflector } from '../../../src/operator/kubernetes/reflector.ts';
import { KubernetesError } from '../../../src/platform/kubernetes/kubernetes-error.ts';
import { createLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

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

interface Thing {
  readonly name: string;
  readonly value: number;
}

function thing(name: string, value: number, resourceVersion: string): object {
  return { metadata: { name, namespace: 'ns', resourceVersion }, value };
}

/** One watch that a test feeds. */
interface Feed {
  readonly from: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  send(event: WatchEvent): void;
  end(): void;
  fail(error: Error): void;
}

interface ListQuery {
  readonly limit: number;
  readonly after: string | null;
}

interface Scene {
  readonly clock: FakeClock;
  readonly reflector: Reflector<Thing>;
  readonly changes: string[];
  readonly turns: string[];
  readonly log: string[];
  readonly lists: ListQuery[];
  readonly feeds: Feed[];
  /** Sets the answer to the next lists; a function may throw. */
  setList(answer: (query: ListQuery) => CollectionPage): void;
  settle(): Promise<void>;
}

function scene(): Scene {
  const clock = new FakeClock();
  const [changes, turns, log]: [string[], string[], string[]] = [[], [], []];
  const lists: Scene['lists'] = [];
  const feeds: Feed[] = [];
  let answer: (query: ListQuery) => CollectionPage = () => page('10', []);
  const reflector = createReflector<Thing>({
    collection: {
      kind: 'things',
      list: async (query) => {
        lists.push(query);
        return answer(query);
      },
      watch: (query, signal, onOpen) => {
        onOpen();
        return feed(feeds, query, signal);
      },
    },
    parse: (object) => {
      const { metadata, value } = object as { metadata: { name: string }; value: number };
      if (value < 0) throw new Error('negative');
      return { name: metadata.name, value };
    },
    onChange: (found) => {
      for (const { before, after } of found) {
        changes.push(`${(before ?? after)?.name} ${before?.value ?? '-'} ${after?.value ?? '-'}`);
      }
    },
    onTurn: (turn) => {
      turns.push(turn);
    },
    clock,
    random: () => 1,
    logger: createLogger({ name: 'test', level: 'debug', destination: { write: (line) => log.push(line) } }),
    silentMs: 60_000,
  });
  return {
    clock,
    reflector,
    changes,
    turns,
    log,
    lists,
    feeds,
    setList: (next) => {
      answer = next;
    },
    settle: async () => {
      for (let round = 0; round < 5; round += 1) await clock.advance(0);
    },
  };
}

function page(resourceVersion: string, items: object[], next: string | null = null): CollectionPage {
  return { resourceVersion, items, next };
}

async function* feed(
  feeds: Feed[],
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void, undefined> {
  const queue: Array<WatchEvent | 'end' | Error> = [];
  let wake = (): void => undefined;
  const put = (item: WatchEvent | 'end' | Error): void => {
    queue.push(item);
    wake();
  };
  signal.addEventListener('abort', () => {
    put(new Error('aborted'));
  });
  feeds.push({
    from: query['resourceVersion'],
    query,
    send: put,
    end: () => {
      put('end');
    },
    fail: put,
  });
  for (;;) {
    const item = queue.shift();
    if (item === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    } else if (item === 'end') return;
    else if (item instanceof Error) throw item;
    else yield item;
  }
}

async function started(items: object[] = [thing('a', 1, '5')]): Promise<Scene> {
  const all = scene();
  all.setList(() => page('10', items));
  all.reflector.start();
  await all.settle();
  return all;
}

describe('a reflector', () => {
  it('lists, then follows every kind of event', async () => {
    const all = await started();
    expect(all.reflector.state()).toEqual({ synced: true, trouble: null });
    expect(all.feeds[0]).toMatchObject({
      from: '10',
      query: { allowWatchBookmarks: 'true', resourceVersion: '10' },
    });
    all.feeds[0]!.send({ type: 'ADDED', object: thing('b', 2, '11') });
    all.feeds[0]!.send({ type: 'MODIFIED', object: thing('a', 3, '12') });
    all.feeds[0]!.send({ type: 'DELETED', object: thing('b', 2, '13') });
    await all.settle();
    expect(all.changes).toEqual(['a - 1', 'b - 2', 'a 1 3', 'b 2 -']);
    expect(all.reflector.get('ns/a')).toEqual({ name: 'a', value: 3 });
    expect(all.reflector.size).toBe(1);
    await all.reflector.stop();
  });

  it('lists in pages, and is not synced before the last one', async () => {
    const all = scene();
    all.setList(({ after }) =>
      after === null ? page('9', [thing('a', 1, '5')], 'more') : page('9', [thing('b', 2, '6')]),
    );
    all.reflector.start();
    await all.settle();
    expect(all.lists).toEqual([
      { limit: 500, after: null },
      { limit: 500, after: 'more' },
    ]);
    expect(all.reflector.size).toBe(2);
    await all.reflector.stop();
  });

  it('resumes at the last version, including bookmarks, when a watch ends', async () => {
    const all = await started();
    all.feeds[0]!.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '42' } } });
    await all.clock.advance(5_000);
    all.feeds[0]!.end();
    await all.settle();
    expect(all.feeds[1]?.from).toBe('42');
    expect(all.lists).toHaveLength(1);
    await all.reflector.stop();
  });

  it('resumes at the last version after a pause when a watch breaks off', async () => {
    const all = await started();
    all.feeds[0]!.send({ type: 'ADDED', object: thing('b', 2, '11') });
    await all.settle();
    all.feeds[0]!.fail(new Error('ECONNRESET'));
    await all.settle();
    expect(all.feeds).toHaveLength(1);
    expect(all.reflector.state().trouble).toBe('cannot follow things now');
    await all.clock.advance(500);
    expect(all.reflector.state().trouble).toBeNull();
    expect(all.feeds[1]?.from).toBe('11');
    expect(all.lists).toHaveLength(1);
    await all.reflector.stop();
  });

  it.each([
    [
      'an answer',
      (feed: Feed) => {
        feed.fail(new KubernetesError(410, 'Expired', 'too old'));
      },
    ],
    [
      'an event',
      (feed: Feed) => {
        feed.send({
          type: 'ERROR',
          object: { kind: 'Status', code: 410, reason: 'Expired', message: 'old' },
        });
      },
    ],
  ])('lists again immediately on 410 as %s, and drops deleted objects', async (_form, expire) => {
    const all = await started([thing('a', 1, '5'), thing('b', 2, '6')]);
    all.setList(() => page('90', [thing('b', 3, '80')]));
    expire(all.feeds[0]!);
    await all.settle();
    expect(all.turns).toEqual(['listed', 'expired', 'listed']);
    expect(all.feeds[1]?.from).toBe('90');
    expect(all.changes.slice(2)).toEqual(['b 2 3', 'a 1 -']);
    await all.reflector.stop();
  });

  it('does not list in a tight loop when every watch has expired', async () => {
    const all = await started();
    for (let second = 0; second < 60; second += 1) {
      all.feeds.at(-1)?.fail(new KubernetesError(410, 'Expired', 'too old'));
      await all.clock.advance(1_000);
    }
    expect(all.lists.length).toBeLessThan(12);
    await all.reflector.stop();
  });

  it('lists again when nothing arrived for too long', async () => {
    const all = await started();
    await all.clock.advance(59_000);
    all.feeds[0]!.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '11' } } });
    await all.settle();
    await all.clock.advance(59_000);
    expect(all.turns).toEqual(['listed']);
    await all.clock.advance(1_500);
    await all.settle();
    expect(all.turns).toEqual(['listed', 'silent', 'listed']);
    await all.reflector.stop();
  });

  it('waits longer and longer while it fails, reports it once, and resets afterwards', async () => {
    const all = scene();
    all.setList(() => {
      throw new KubernetesError(500, 'InternalError', 'broken');
    });
    all.reflector.start();
    await all.clock.advance(120_000);
    // 0.5 + 1 + 2 + 4 + 8 + 16 s, then every 30 s.
    expect(all.lists.length).toBe(9);
    expect(all.log.filter((line) => line.includes('cannot follow'))).toHaveLength(1);
    expect(all.reflector.state()).toEqual({ synced: false, trouble: 'cannot follow things now' });
    all.setList(() => page('1', []));
    await all.clock.advance(30_000);
    expect(all.reflector.state()).toEqual({ synced: true, trouble: null });
    await all.reflector.stop();
  });

  it('never sends a request before Retry-After', async () => {
    const all = scene();
    all.setList(() => {
      throw new KubernetesError(429, 'TooManyRequests', 'later', { retryAfterMs: 20_000 });
    });
    all.reflector.start();
    await all.clock.advance(19_999);
    expect(all.lists).toHaveLength(1);
    await all.clock.advance(1);
    expect(all.lists).toHaveLength(2);
    await all.reflector.stop();
  });

  it('does not send requests in a tight loop when every watch ends immediately', async () => {
    const all = await started();
    for (let second = 0; second < 60; second += 1) {
      all.feeds.at(-1)?.end();
      await all.clock.advance(1_000);
    }
    expect(all.feeds.length).toBeLessThan(12);
    await all.reflector.stop();
  });

  it('names a missing permission once', async () => {
    const all = scene();
    all.setList(() => {
      throw new KubernetesError(403, 'Forbidden', 'no');
    });
    all.reflector.start();
    await all.clock.advance(300_000);
    const said = all.log.filter((line) => line.includes('no permission to list and watch things'));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('"level":"error"');
    await all.reflector.stop();
  });

  it('omits an unreadable object, and includes it when it is readable', async () => {
    const all = await started([thing('a', -1, '5'), thing('b', 2, '6')]);
    expect(all.reflector.size).toBe(1);
    all.feeds[0]!.send({ type: 'MODIFIED', object: thing('a', 4, '11') });
    await all.settle();
    expect(all.reflector.get('ns/a')).toEqual({ name: 'a', value: 4 });
    all.feeds[0]!.send({ type: 'MODIFIED', object: thing('a', -2, '12') });
    await all.settle();
    expect(all.changes.at(-1)).toBe('a 4 -');
    await all.reflector.stop();
  });
});

function stateOf(conditions: object | undefined): string | undefined {
  const slice = parseSlice({
    metadata: { namespace: 'ns', labels: { 'kubernetes.io/service-name': 'slipway' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: [{ addresses: ['10.0.0.1'], conditions, targetRef: { name: 'a' } }],
  });
  return slice.endpoints[0]?.state;
}

describe('an endpoint', () => {
  it.each([
    ['without conditions', undefined, 'ready'],
    ['of a ready pod', { ready: true, serving: true, terminating: false }, 'ready'],
    ['of an unready pod', { ready: false, serving: false, terminating: false }, 'unready'],
    ['that says only that it is not ready', { ready: false }, 'unready'],
    ['that a Service publishes although the pod is not ready', { ready: true, serving: false }, 'unready'],
    ['of a pod that shuts down and answers', { ready: false, serving: true, terminating: true }, 'draining'],
    ['of a pod that shuts down', { ready: false, serving: false, terminating: true }, undefined],
  ])('%s is %j: %s', (_what, conditions, state) => {
    expect(stateOf(conditions)).toBe(state);
  });
});
