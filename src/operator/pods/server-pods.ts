import { PODS_MAX } from '../../contract/crd/release-channel.ts';
import type { ChannelReason } from '../../contract/crd/channel-reasons.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import type { EndpointState, ServiceRecord, SliceRecord } from '../kubernetes/objects.ts';

/** One pod of a server. */
export interface ServerPod {
  readonly name: string;
  /** Where its server is reached, without trailing slash. */
  readonly origin: string;
  readonly endpoint: EndpointState;
}

/** A problem, as a condition shows it. */
export interface Obstacle {
  readonly reason: ChannelReason;
  readonly message: string;
}

/**
 * The pods behind a port of a Service, in order of name; at most {@link PODS_MAX}.
 *
 * @param service `undefined` when it does not exist
 * @param slices those of any Service of the namespace
 * @param hostOverride replaces every pod's address, or `null`
 */
export function serverPods(
  ref: { readonly namespace: string; readonly name: string; readonly port: number },
  service: ServiceRecord | undefined,
  slices: Iterable<SliceRecord>,
  hostOverride: string | null,
): Result<readonly ServerPod[], Obstacle> {
  if (service === undefined) {
    return failure({
      reason: 'ServiceNotFound',
      message: `Service "${ref.name}" does not exist in namespace "${ref.namespace}"`,
    });
  }
  const port = service.ports.find((each) => each.port === ref.port);
  if (port === undefined) {
    const known = service.ports.map((each) => each.port).join(', ');
    return failure({
      reason: 'PortNotFound',
      message: `Service "${ref.name}" has no port ${ref.port}; its ports: ${known === '' ? 'none' : known}`,
    });
  }
  return success(podsBehind(ref, port.name, slices, hostOverride).slice(0, PODS_MAX));
}

/**
 * The edges behind a Service, in order of name. The port `http`, or else the first one, is that of their servers.
 *
 * @param slices those of any Service of the namespace
 * @param hostOverride replaces every pod's address, or `null`
 */
export function edgePods(
  service: ServiceRecord,
  slices: Iterable<SliceRecord>,
  hostOverride: string | null,
): readonly ServerPod[] {
  const port = service.ports.find(({ name }) => name === 'http') ?? service.ports[0];
  return port === undefined ? [] : podsBehind(service, port.name, slices, hostOverride);
}

function podsBehind(
  { namespace, name: service }: { readonly namespace: string; readonly name: string },
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
      const origin = `http://${hostOverride ?? address}:${target.port}`;
      if (!pods.has(name)) pods.set(name, { name, origin, endpoint: state });
    }
  }
  return [...pods.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
}
