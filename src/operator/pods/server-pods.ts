import { PODS_MAX } from '../../contract/crd/release-channel.ts';
import type { ChannelReason } from '../../contract/crd/channel-reasons.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { urlHost } from '../../platform/http/networks.ts';
import type { ClusterView } from '../channels/cluster-view.ts';
import type { EndpointState, ReleaseChannel, ServiceRecord, SliceRecord } from '../kubernetes/objects.ts';

export interface ServerPod {
  readonly name: string;
  /** Where its server is reached, without trailing slash. */
  readonly origin: string;
  readonly endpoint: EndpointState;
}

export interface Obstacle {
  readonly reason: ChannelReason;
  readonly message: string;
}

/**
 * The pods of the server that an object names, in order of name; at most {@link PODS_MAX}.
 *
 * @param hostOverride replaces every pod's address, or `null`
 */
export function serverPods(
  view: ClusterView,
  { namespace, spec }: ReleaseChannel,
  hostOverride: string | null,
): Result<readonly ServerPod[], Obstacle> {
  const { name, port: number } = spec.serverRef;
  const service = view.service(namespace, name);
  if (service === undefined) {
    return failure({
      reason: 'ServiceNotFound',
      message: `Service "${name}" does not exist in namespace "${namespace}"`,
    });
  }
  const port = service.ports.find((each) => each.port === number);
  if (port === undefined) {
    const known = service.ports.map((each) => each.port).join(', ');
    return failure({
      reason: 'PortNotFound',
      message: `Service "${name}" has no port ${number}; its ports: ${known === '' ? 'none' : known}`,
    });
  }
  const pods = podsBehind(service, port.name, view.slices(namespace, name), hostOverride);
  return success(pods.slice(0, PODS_MAX));
}

/** The edges of the server that an object names, in order of name; `null` when no Service is one of edges. */
export function edgesOfServer(
  view: ClusterView,
  { namespace, spec }: ReleaseChannel,
  hostOverride: string | null,
): readonly ServerPod[] | null {
  const services = [...view.edgeServices(namespace, spec.serverRef.name)];
  if (services.length === 0) return null;
  const found = services.flatMap((service) =>
    edgePods(service, view.slices(namespace, service.name), hostOverride),
  );
  // A pod can be behind several Services.
  return sortedByName(new Map(found.map((pod) => [pod.name, pod])).values());
}

/** The edges behind a Service, in order of name. The port `http`, or the first one without it, is that of their servers. */
export function edgePods(
  service: ServiceRecord,
  slices: Iterable<SliceRecord>,
  hostOverride: string | null,
): readonly ServerPod[] {
  const port = service.ports.find(({ name }) => name === 'http') ?? service.ports[0];
  return port === undefined ? [] : podsBehind(service, port.name, slices, hostOverride);
}

function podsBehind(
  { namespace, name: service }: ServiceRecord,
  portName: string,
  slices: Iterable<SliceRecord>,
  hostOverride: string | null,
): readonly ServerPod[] {
  // A pod of two address families is in one slice of each: the first one found stands for it.
  const pods = new Map<string, ServerPod>();
  for (const slice of slices) {
    if (slice.namespace !== namespace || slice.service !== service) continue;
    const target = slice.ports.find((each) => each.name === portName);
    if (target === undefined) continue;
    for (const { name, address, state } of slice.endpoints) {
      const origin = `http://${urlHost(hostOverride ?? address)}:${target.port}`;
      if (!pods.has(name)) pods.set(name, { name, origin, endpoint: state });
    }
  }
  return sortedByName(pods.values());
}

function sortedByName(pods: Iterable<ServerPod>): readonly ServerPod[] {
  return [...pods].sort((left, right) => (left.name < right.name ? -1 : 1));
}
