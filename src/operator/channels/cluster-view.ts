import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Collection, Collections } from '../kubernetes/collections.ts';
import {
  parseReleaseChannel,
  parseService,
  parseSlice,
  type ReleaseChannel,
  type ServiceRecord,
  type SliceRecord,
} from '../kubernetes/objects.ts';
import type { ObjectChange } from '../kubernetes/object-cache.ts';
import { PodIndex, ServiceIndex } from './service-index.ts';
import { createReflector, type Reflector, type ReflectorTurn } from '../kubernetes/reflector.ts';

/** The objects of the cluster that matter to the operator, from caches that follow them. */
export interface ClusterView {
  start(): void;
  channel(key: string): ReleaseChannel | undefined;
  /** Whether there is such an object, also if this version cannot read it. @param key `namespace/name` */
  exists(key: string): boolean;
  channels(): IterableIterator<ReleaseChannel>;
  channelsOf(namespace: string, service: string): Iterable<ReleaseChannel>;
  service(namespace: string, name: string): ServiceRecord | undefined;
  slices(namespace: string, service: string): Iterable<SliceRecord>;
  /** The Services of the edges of an origin. @param service any Service that leads to pods of the origin */
  edgeServices(namespace: string, service: string): Iterable<ServiceRecord>;
  /** The names of the Services that have a pod in common with a Service, and its own. */
  servicesWithPodsOf(namespace: string, service: string): ReadonlySet<string>;
  /** Whether every collection was read once, and the problems that keep some from being followed. */
  state(): { readonly synced: boolean; readonly troubles: readonly string[] };
  stop(): Promise<void>;
}

interface ClusterViewOptions {
  readonly collections: Collections;
  readonly namespaces: readonly string[];
  readonly silentMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly onTurn: (kind: string, turn: ReflectorTurn) => void;
  readonly onChannel: (before: ReleaseChannel | undefined, after: ReleaseChannel | undefined) => void;
  /** The pods or ports behind a Service may have changed. Called when all of the change can be read. */
  readonly onService: (namespace: string, name: string) => void;
}

/** Makes a view: one reflector for each kind and namespace. */
export function createClusterView(options: ClusterViewOptions): ClusterView {
  const pods = new PodIndex();
  const slicesOf = new ServiceIndex<SliceRecord>(({ namespace, service }) => ({
    namespace,
    name: service,
  }));
  const channelsOf = new ServiceIndex<ReleaseChannel>(({ namespace, spec }) => ({
    namespace,
    name: spec.serverRef.name,
  }));
  const edgesOf = new ServiceIndex<ServiceRecord>(({ namespace, edgesOf: origin }) =>
    origin === null ? null : { namespace, name: origin },
  );

  const { collections } = options;
  const channels = follow(options, collections.channels, parseReleaseChannel, (changes) => {
    channelsOf.apply(changes);
    for (const { before, after } of changes) options.onChannel(before, after);
  });
  const services = follow(options, collections.services, parseService, (changes) => {
    // Also the origins that a Service of edges no longer names.
    for (const { namespace, name } of edgesOf.apply(changes)) options.onService(namespace, name);
    for (const { before, after } of changes) {
      const changed = after ?? before;
      if (changed !== undefined) options.onService(changed.namespace, changed.name);
    }
  });
  const slices = follow(options, collections.endpointSlices, parseSlice, (changes) => {
    // Also the Services that shared a pod until now: nothing leads from the changed ones to them anymore.
    const touched = [...pods.apply(changes), ...slicesOf.apply(changes)];
    const services = new Map(touched.map((service) => [`${service.namespace}/${service.name}`, service]));
    for (const { namespace, name } of services.values()) options.onService(namespace, name);
  });
  const servicesWithPodsOf = (namespace: string, name: string): ReadonlySet<string> =>
    new Set([name, ...pods.servicesWithPodsOf(slicesOf.of({ namespace, name }))]);
  const all: readonly Reflector<unknown>[] = [...channels, ...services, ...slices];

  return {
    start: () => {
      for (const reflector of all) reflector.start();
    },
    channel: (key) => channels.map((reflector) => reflector.get(key)).find((found) => found !== undefined),
    exists: (key) => channels.some((reflector) => reflector.exists(key)),
    channels: function* allChannels() {
      for (const reflector of channels) yield* reflector.values();
    },
    channelsOf: (namespace, service) => channelsOf.of({ namespace, name: service }),
    service: (namespace, name) =>
      services.map((reflector) => reflector.get(`${namespace}/${name}`)).find((found) => found !== undefined),
    slices: (namespace, service) => slicesOf.of({ namespace, name: service }),
    edgeServices: function* edgeServices(namespace, service) {
      for (const name of servicesWithPodsOf(namespace, service)) yield* edgesOf.of({ namespace, name });
    },
    servicesWithPodsOf,
    state: () => {
      const states = all.map((reflector) => reflector.state());
      return {
        synced: states.every(({ synced }) => synced),
        troubles: [...new Set(states.flatMap(({ trouble }) => (trouble === null ? [] : [trouble])))],
      };
    },
    stop: async () => {
      await Promise.all(all.map(async (reflector) => await reflector.stop()));
    },
  };
}

function follow<T>(
  { namespaces, onTurn, clock, random, logger, silentMs }: ClusterViewOptions,
  collectionOf: (namespace: string | null) => Collection,
  parse: (object: unknown) => T,
  onChange: (changes: readonly ObjectChange<T>[]) => void,
): readonly Reflector<T>[] {
  return (namespaces.length === 0 ? [null] : namespaces).map((namespace) => {
    const collection = collectionOf(namespace);
    return createReflector<T>({
      collection,
      parse,
      onChange,
      onTurn: (turn) => {
        onTurn(collection.kind, turn);
      },
      clock,
      random,
      logger,
      silentMs,
    });
  });
}
