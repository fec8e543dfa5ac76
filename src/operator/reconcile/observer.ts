import { EDGES_MAX } from '../../contract/crd/release-channel.ts';
import type { Result } from '../../domain/result.ts';
import type { AdminTokens } from '../pods/admin-tokens.ts';
import type { PodHealthCache, PodHealth } from '../pods/pod-health.ts';
import type { Obstacle, ServerPod } from '../pods/server-pods.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { ServerClient } from '../pods/server-client.ts';
import type { ClusterView } from '../channels/cluster-view.ts';
import type { Leadership } from '../election/leadership.ts';
import { bringDaemon, type DaemonOutcome, type StartedTasks } from './daemon-step.ts';
import { rivalObstacle } from './rivalry.ts';

/** Everything learned from the pods of one object and their daemons. */
export interface Observation {
  readonly unknownPods: Obstacle | null;
  readonly pods: readonly PodHealth[];
  readonly draining: readonly PodHealth[];
  /** One for each pod; none when there is an obstacle. */
  readonly outcomes: readonly DaemonOutcome[];
  readonly obstacle: Obstacle | null;
  readonly token: string | null;
  readonly edges: ObservedEdges | null;
}

/** The edges of an origin that are not shutting down. */
export interface ObservedEdges {
  readonly count: number;
  readonly ready: number;
  /** The first ones by name, with their answers. */
  readonly asked: readonly PodHealth[];
}

/** Finds the pods behind the Service of an object. */
export type PodsOf = (channel: ReleaseChannel) => Result<readonly ServerPod[], Obstacle>;
/** Finds the edges of the origin; `null` when no Service is one of edges. */
export type EdgesOf = (channel: ReleaseChannel) => readonly ServerPod[] | null;

export interface ObserverOptions {
  readonly view: ClusterView;
  readonly pods: PodsOf;
  readonly edges: EdgesOf;
  readonly health: PodHealthCache;
  readonly tokens: AdminTokens;
  readonly client: ServerClient;
  readonly leadership: Leadership;
  readonly started: StartedTasks;
}

/** Asks the pods of an object for their health, and brings their daemons to its spec. */
export async function observe(
  options: ObserverOptions,
  channel: ReleaseChannel,
  requestedAt: string | null,
): Promise<Observation> {
  const [origin, edges] = await Promise.all([
    observeOrigin(options, channel, requestedAt),
    observeEdges(options, channel),
  ]);
  return { ...origin, edges };
}

async function observeOrigin(
  options: ObserverOptions,
  channel: ReleaseChannel,
  requestedAt: string | null,
): Promise<Omit<Observation, 'edges'>> {
  const { health, tokens, view } = options;
  const found = options.pods(channel);
  if (!found.ok) {
    const { error } = found;
    return { unknownPods: error, pods: [], draining: [], outcomes: [], obstacle: error, token: null };
  }
  const staying = found.value.filter(({ endpoint }) => endpoint !== 'draining');
  const isUnready = staying.every(({ endpoint }) => endpoint === 'unready');
  const leaving = isUnready ? found.value.filter(({ endpoint }) => endpoint === 'draining') : [];
  const ref = { namespace: channel.namespace, ...channel.spec.adminTokenSecretRef };
  const [pods, draining, token] = await Promise.all([
    health.ask(staying),
    health.ask(leaving),
    tokens.read(ref),
  ]);
  const obstacle = rivalObstacle(view, channel) ?? (token.ok ? null : token.error);
  if (!token.ok || obstacle !== null) {
    return { unknownPods: null, pods, draining, outcomes: [], obstacle, token: null };
  }
  const outcomes = await Promise.all(
    pods.map(async (pod) =>
      pod.failure === null
        ? await bringDaemon(options, { channel, pod, token: token.value, requestedAt })
        : unreachableDaemon(pod, pod.failure),
    ),
  );
  // A token that was rotated a moment ago must not count as wrong for a minute.
  if (outcomes.some(({ stalled }) => stalled?.reason === 'TokenRejected')) tokens.refuse(ref);
  return { unknownPods: null, pods, draining, outcomes, obstacle: null, token: token.value };
}

/** Edges need no token: their health is public. */
async function observeEdges(
  { edges: edgesOf, health }: ObserverOptions,
  channel: ReleaseChannel,
): Promise<ObservedEdges | null> {
  const edges = edgesOf(channel);
  if (edges === null) return null;
  const staying = edges.filter(({ endpoint }) => endpoint !== 'draining');
  return {
    count: staying.length,
    ready: staying.filter(({ endpoint }) => endpoint === 'ready').length,
    asked: await health.ask(staying.slice(0, EDGES_MAX)),
  };
}

/** A pod that has just failed to answer is not asked by other means. */
function unreachableDaemon({ name }: PodHealth, failure: string): DaemonOutcome {
  const waiting = { reason: 'AdminUnavailable', message: `pod ${name}: ${failure}` } as const;
  return {
    status: null,
    texts: null,
    stalled: null,
    waiting,
    crashLoop: null,
    isRunning: null,
    behind: null,
  };
}
