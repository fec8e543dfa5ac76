import { z } from 'zod';
import type { ConditionType } from '../../contract/crd/channel-reasons.ts';
import {
  ReleaseChannelSpecSchema,
  StoredStatusSchema,
  type ChannelCondition,
  type ReleaseChannelSpec,
  type ReleaseChannelStatus,
} from '../../contract/crd/release-channel.ts';
import {
  EDGES_OF_LABEL,
  REQUESTED_AT_ANNOTATION,
  REQUESTED_AT_MAX,
} from '../../contract/crd/resource-names.ts';

/** The part of a ReleaseChannel that is kept in memory. */
export interface ReleaseChannel {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** RFC 3339, UTC, whole seconds; sorts by time. */
  readonly createdAt: string;
  readonly isDeleting: boolean;
  /** Value of the annotation that asks for a reconciliation, cut to its bound; `null` when there is none. */
  readonly requestedAt: string | null;
  readonly spec: ReleaseChannelSpec;
  /** `null` when it is missing or invalid. */
  readonly status: ReleaseChannelStatus | null;
}

/** The condition of a type, or `null`. */
export function conditionOf(
  status: ReleaseChannelStatus | null,
  type: ConditionType,
): ChannelCondition | null {
  return status?.conditions.find((condition) => condition.type === type) ?? null;
}

export interface ServiceRecord {
  readonly namespace: string;
  readonly name: string;
  /** The Service of the origin, for a Service of edges; else `null`. */
  readonly edgesOf: string | null;
  readonly ports: ReadonlyArray<{ readonly name: string; readonly port: number }>;
}

export interface SliceRecord {
  readonly namespace: string;
  readonly service: string;
  readonly ports: ReadonlyArray<{ readonly name: string; readonly port: number }>;
  readonly endpoints: readonly EndpointRecord[];
}

interface EndpointRecord {
  /** Name of the pod, or the address. */
  readonly name: string;
  readonly address: string;
  readonly state: EndpointState;
}

/**
 * The use that the Service makes of a pod. `ready`: it gets the requests. `unready`: it gets none. `draining`: it shuts down and
 * still answers; it gets requests while no pod is ready.
 */
export type EndpointState = 'ready' | 'unready' | 'draining';

const ChannelObject = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    generation: z.int().default(0),
    creationTimestamp: z.string(),
    deletionTimestamp: z.string().nullish(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: ReleaseChannelSpecSchema,
  status: z.unknown().optional(),
});

/** Reads a ReleaseChannel. @throws ZodError when this version does not know its spec */
export function parseReleaseChannel(object: unknown): ReleaseChannel {
  const { metadata, spec, status } = ChannelObject.parse(object);
  const readStatus = StoredStatusSchema.safeParse(status);
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    createdAt: metadata.creationTimestamp,
    isDeleting: typeof metadata.deletionTimestamp === 'string',
    requestedAt: metadata.annotations[REQUESTED_AT_ANNOTATION]?.slice(0, REQUESTED_AT_MAX) ?? null,
    spec,
    status: readStatus.success ? readStatus.data : null,
  };
}

const ServiceObject = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.object({
    ports: z.array(z.object({ name: z.string().default(''), port: z.int() })).default([]),
  }),
});

/** Reads a Service. @throws ZodError */
export function parseService(object: unknown): ServiceRecord {
  const { metadata, spec } = ServiceObject.parse(object);
  const { namespace, name, labels } = metadata;
  return { namespace, name, edgesOf: labels[EDGES_OF_LABEL] ?? null, ports: spec.ports };
}

const SERVICE_LABEL = 'kubernetes.io/service-name';

const EndpointConditions = z.object({
  ready: z.boolean().nullish(),
  serving: z.boolean().nullish(),
  terminating: z.boolean().nullish(),
});

const SliceObject = z.object({
  metadata: z.object({
    namespace: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
  }),
  addressType: z.string(),
  ports: z
    .array(z.object({ name: z.string().nullish(), port: z.int().nullish() }))
    .nullish()
    .transform((ports) => ports ?? []),
  endpoints: z
    .array(
      z.object({
        addresses: z.array(z.string()),
        targetRef: z.object({ name: z.string().optional() }).nullish(),
        conditions: EndpointConditions.nullish(),
      }),
    )
    .nullish()
    .transform((endpoints) => endpoints ?? []),
});

/**
 * Reads an EndpointSlice. It includes pods that are not ready, so that they can be asked why. Pods that shut down and no
 * longer answer are left out.
 *
 * @throws ZodError
 *
 * Source: Kubernetes API reference, discovery.k8s.io/v1: of several addresses consumers use the first one.
 */
export function parseSlice(object: unknown): SliceRecord {
  const { metadata, addressType, ports, endpoints } = SliceObject.parse(object);
  return {
    namespace: metadata.namespace,
    service: metadata.labels[SERVICE_LABEL] ?? '',
    ports: ports.flatMap(({ name, port }) => (typeof port === 'number' ? [{ name: name ?? '', port }] : [])),
    endpoints: endpoints.flatMap(({ addresses, targetRef, conditions }) => {
      const [address] = addresses;
      const state = endpointState(conditions ?? {});
      if (address === undefined || state === null) return [];
      const literal = addressType === 'IPv6' ? `[${address}]` : address;
      return [{ name: targetRef?.name ?? address, address: literal, state }];
    }),
  };
}

/**
 * The state of an endpoint; `null` when it is gone for all purposes.
 *
 * A Service that publishes unready addresses reports every pod as ready, so a pod must also be serving.
 *
 * Source: Kubernetes API reference, EndpointConditions: ready counts as true when it is absent, serving as ready, and
 * terminating as false.
 */
function endpointState({
  ready,
  serving,
  terminating,
}: z.output<typeof EndpointConditions>): EndpointState | null {
  const isReady = ready ?? true;
  const isServing = serving ?? isReady;
  if (terminating === true) return isServing ? 'draining' : null;
  return isReady && isServing ? 'ready' : 'unready';
}
