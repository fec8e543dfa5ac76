import { z } from 'zod';
import {
  ReleaseChannelSpecSchema,
  ReleaseChannelStatusSchema,
  type ReleaseChannelSpec,
  type ReleaseChannelStatus,
} from '../../contract/crd/release-channel.ts';
import {
  REQUESTED_AT_ANNOTATION,
  REQUESTED_AT_MAX,
  SCHEDULES_FINALIZER,
} from '../../contract/crd/resource-names.ts';

/** A ReleaseChannel as far as it is kept in memory. */
export interface ReleaseChannel {
  /** `namespace/name` */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  /** Value of the annotation that asks for a reconciliation, cut to its bound; `null` when there is none. */
  readonly requestedAt: string | null;
  readonly spec: ReleaseChannelSpec;
  /** `null` when there is none, or none that can be read. */
  readonly status: ReleaseChannelStatus | null;
}

/** A Service as far as it matters: which port has which name. */
export interface ServiceRecord {
  readonly namespace: string;
  readonly name: string;
  readonly ports: ReadonlyArray<{ readonly name: string; readonly port: number }>;
}

/** An EndpointSlice as far as it matters. */
export interface SliceRecord {
  readonly namespace: string;
  /** The Service it belongs to. */
  readonly service: string;
  readonly ports: ReadonlyArray<{ readonly name: string; readonly port: number }>;
  readonly endpoints: ReadonlyArray<{ readonly name: string; readonly address: string }>;
}

const ChannelObject = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    generation: z.int().default(0),
    deletionTimestamp: z.string().nullish(),
    finalizers: z.array(z.string()).default([]),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: ReleaseChannelSpecSchema,
  status: z.unknown().optional(),
});

/** Reads a ReleaseChannel. @throws ZodError when its spec is not what this version knows */
export function parseReleaseChannel(object: unknown): ReleaseChannel {
  const { metadata, spec, status } = ChannelObject.parse(object);
  const readStatus = ReleaseChannelStatusSchema.safeParse(status);
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    isDeleting: typeof metadata.deletionTimestamp === 'string',
    finalizers: metadata.finalizers,
    requestedAt: metadata.annotations[REQUESTED_AT_ANNOTATION]?.slice(0, REQUESTED_AT_MAX) ?? null,
    spec,
    status: readStatus.success ? readStatus.data : null,
  };
}

/** Whether the deletion of an object waits for this operator. */
export function hasFinalizer(channel: Pick<ReleaseChannel, 'finalizers'>): boolean {
  return channel.finalizers.includes(SCHEDULES_FINALIZER);
}

const ServiceObject = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string() }),
  spec: z.object({
    ports: z.array(z.object({ name: z.string().default(''), port: z.int() })).default([]),
  }),
});

/** Reads a Service. @throws ZodError */
export function parseService(object: unknown): ServiceRecord {
  const { metadata, spec } = ServiceObject.parse(object);
  return { namespace: metadata.namespace, name: metadata.name, ports: spec.ports };
}

const SERVICE_LABEL = 'kubernetes.io/service-name';

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
        conditions: z.object({ terminating: z.boolean().nullish() }).nullish(),
      }),
    )
    .nullish()
    .transform((endpoints) => endpoints ?? []),
});

/**
 * Reads an EndpointSlice. Pods that are not ready are in it too: why they are not is what is asked for. Those that are
 * ending are left out.
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
      if (address === undefined || conditions?.terminating === true) return [];
      const literal = addressType === 'IPv6' ? `[${address}]` : address;
      return [{ name: targetRef?.name ?? address, address: literal }];
    }),
  };
}
