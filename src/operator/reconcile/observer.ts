import type { Result } from '../../domain/result.ts';
import type { AdminTokens } from '../pods/admin-tokens.ts';
import type { EvidenceBook, PodEvidence } from '../pods/evidence-book.ts';
import type { Obstacle, ServerPod } from '../pods/server-pods.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { DaemonOutcome, DaemonTask } from './daemon-step.ts';

/** Everything learned from the pods of one object and their daemons. */
export interface Observation {
  /** Why the pods are not known, or `null`. */
  readonly unknownPods: Obstacle | null;
  /** The pods that stay. */
  readonly pods: readonly PodEvidence[];
  /** Pods that shut down and still answer; asked only while no other pod is ready. */
  readonly draining: readonly PodEvidence[];
  /** One for each pod; none when there is an obstacle. */
  readonly outcomes: readonly DaemonOutcome[];
  /** Why no daemon was asked, or `null`. */
  readonly obstacle: Obstacle | null;
  readonly token: string | null;
}

/** Where pods, evidence and tokens come from. */
export interface ObserverOptions {
  readonly pods: (channel: ReleaseChannel) => Result<readonly ServerPod[], Obstacle>;
  readonly evidence: EvidenceBook;
  readonly tokens: AdminTokens;
  /** Why another object acts for the channel instead, or `null`. */
  readonly rival: (channel: ReleaseChannel) => Obstacle | null;
  readonly daemonStep: (task: DaemonTask) => Promise<DaemonOutcome>;
}

/** Makes the function that asks the pods of an object for their health, and brings their daemons to its spec. */
export function createObserver({
  pods: podsOf,
  evidence,
  tokens,
  rival: rivalOf,
  daemonStep,
}: ObserverOptions): (channel: ReleaseChannel, requestedAt: string | null) => Promise<Observation> {
  return async (channel, requestedAt) => {
    const found = podsOf(channel);
    if (!found.ok) {
      return {
        unknownPods: found.error,
        pods: [],
        draining: [],
        outcomes: [],
        obstacle: found.error,
        token: null,
      };
    }
    const staying = found.value.filter(({ endpoint }) => endpoint !== 'draining');
    const isUnready = staying.every(({ endpoint }) => endpoint === 'unready');
    const leaving = isUnready ? found.value.filter(({ endpoint }) => endpoint === 'draining') : [];
    const ref = { namespace: channel.namespace, ...channel.spec.adminTokenSecretRef };
    const [pods, draining, token] = await Promise.all([
      evidence.ask(staying),
      evidence.ask(leaving),
      tokens.read(ref),
    ]);
    const obstacle = rivalOf(channel) ?? (token.ok ? null : token.error);
    if (!token.ok || obstacle !== null) {
      return { unknownPods: null, pods, draining, outcomes: [], obstacle, token: null };
    }
    const outcomes = await Promise.all(
      pods.map(async (pod) =>
        pod.failure === null
          ? await daemonStep({ channel, pod, token: token.value, requestedAt })
          : unreachableDaemon(pod, pod.failure),
      ),
    );
    // A token that was rotated a moment ago must not count as wrong for a minute.
    if (outcomes.some(({ stalled }) => stalled?.reason === 'TokenRejected')) tokens.refuse(ref);
    return { unknownPods: null, pods, draining, outcomes, obstacle: null, token: token.value };
  };
}

/** A pod that has just failed to answer is not asked by other means. */
function unreachableDaemon({ name }: PodEvidence, failure: string): DaemonOutcome {
  const waiting = { reason: 'AdminUnavailable', message: `pod ${name}: ${failure}` } as const;
  return { status: null, texts: null, stalled: null, waiting, crashLoop: null, requestHandled: false };
}
