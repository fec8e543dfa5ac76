import { isDeepStrictEqual } from 'node:util';
import type { ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';
import type { Result } from '../../domain/result.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { HttpFailure } from '../../platform/http/http-client.ts';
import type { ChannelWriter } from '../channels/channel-writer.ts';
import { hasStatus } from '../../platform/kubernetes/kubernetes-error.ts';
import { hasFinalizer, type ReleaseChannel } from '../kubernetes/objects.ts';
import type { AdminTokens } from '../pods/admin-tokens.ts';
import type { EvidenceBook, PodEvidence } from '../pods/evidence-book.ts';
import type { ReleaseRow, ServerClient } from '../pods/server-client.ts';
import type { Obstacle, ServerPod } from '../pods/server-pods.ts';
import { conditionOf } from './condition-of.ts';
import type { DaemonOutcome, DaemonTask } from './daemon-step.ts';
import type { Finalizer } from './finalizer.ts';
import { statusOf } from './status.ts';

/** What a reconciliation leaves to do. */
export type ReconcileOutcome =
  /** All is as it should be, or waits for a person: look again after the interval. */
  | 'settled'
  /** Something passes by itself: look again sooner. */
  | 'waiting'
  /** The object is gone. */
  | 'gone';

/** Brings one object at a time to what its spec asks for, and says what is. */
export interface Reconciler {
  /** @throws KubernetesError, HttpFailure, LeadershipLost: try again */
  reconcile(key: string): Promise<ReconcileOutcome>;
  /** Whether a change of an object is nothing but the status that was written by this process. */
  isOwnChange(before: ReleaseChannel | undefined, after: ReleaseChannel | undefined): boolean;
}

/** What {@link createReconciler} needs. */
export interface ReconcilerOptions {
  readonly channel: (key: string) => ReleaseChannel | undefined;
  readonly pods: (channel: ReleaseChannel) => Result<readonly ServerPod[], Obstacle>;
  readonly evidence: EvidenceBook;
  readonly tokens: AdminTokens;
  readonly client: Pick<ServerClient, 'releases'>;
  readonly daemonStep: (task: DaemonTask) => Promise<DaemonOutcome>;
  readonly finalizer: Finalizer;
  readonly writer: ChannelWriter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is remembered of an object between two reconciliations; all of it can be found out again. */
interface Memory {
  /** The status written last, and the version of the object that carries it. */
  written: { readonly status: ReleaseChannelStatus; readonly version: string } | null;
  /** The history, and what it was read for. */
  history: { readonly of: string; readonly rows: readonly ReleaseRow[] } | null;
}

/** What the pods and their daemons gave. */
interface Observation {
  readonly unknownPods: Obstacle | null;
  readonly pods: readonly PodEvidence[];
  readonly outcomes: readonly DaemonOutcome[];
  readonly obstacle: Obstacle | null;
  readonly token: string | null;
}

/**
 * Makes a reconciler: pods, their evidence, token, daemons, status, in this order; one status patch at the end, and only
 * when something changed.
 */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { writer, finalizer, tokens, clock, logger } = options;
  const memories = new Map<string, Memory>();

  const memoryOf = (key: string): Memory => {
    const known = memories.get(key) ?? { written: null, history: null };
    memories.set(key, known);
    return known;
  };

  const observe = async (channel: ReleaseChannel, requestedAt: string | null): Promise<Observation> => {
    const found = options.pods(channel);
    if (!found.ok) {
      return { unknownPods: found.error, pods: [], outcomes: [], obstacle: found.error, token: null };
    }
    const ref = { namespace: channel.namespace, ...channel.spec.adminTokenSecretRef };
    const [pods, token] = await Promise.all([options.evidence.ask(found.value), tokens.read(ref)]);
    if (!token.ok) {
      return { unknownPods: null, pods, outcomes: [], obstacle: token.error, token: null };
    }
    const outcomes = await Promise.all(
      pods.map(async (pod) =>
        pod.failure === null
          ? await options.daemonStep({ channel, pod, token: token.value, requestedAt })
          : unreachableDaemon(pod, pod.failure),
      ),
    );
    // A Secret that was rotated a moment ago must not look like a wrong one for a minute.
    if (outcomes.some(({ stalled }) => stalled?.reason === 'TokenRejected')) tokens.refuse(ref);
    return { unknownPods: null, pods, outcomes, obstacle: null, token: token.value };
  };

  /** Read only when the current release or its verification changed: it is long. */
  const historyOf = async (
    channel: ReleaseChannel,
    { token, pods, outcomes }: Observation,
    memory: Memory,
  ): Promise<readonly ReleaseRow[] | null> => {
    const at = outcomes.findIndex(({ status }) => status !== null);
    const [status, pod] = [outcomes[at]?.status ?? null, pods[at]];
    if (status === null || pod === undefined || token === null) return memory.history?.rows ?? null;
    const current = status[channel.spec.channel];
    const of = `${current?.release_id} ${current?.state} ${current?.verified_at} ${current?.damaged_count}`;
    if (memory.history?.of === of) return memory.history.rows;
    try {
      const rows = await options.client.releases(pod.origin, token, channel.spec.channel);
      memory.history = { of, rows: rows.slice(0, HISTORY_KEPT) };
    } catch (error) {
      logger.debug({ err: error, channel: channel.key }, 'the history could not be read');
    }
    return memory.history?.rows ?? null;
  };

  /** Writes the status when it differs, and an event when readiness changed. */
  const write = async (
    channel: ReleaseChannel,
    status: ReleaseChannelStatus,
    previous: ReleaseChannelStatus | null,
    memory: Memory,
  ): Promise<void> => {
    if (isDeepStrictEqual(status, previous)) return;
    const before = memory.written;
    // Known before the answer: the watch may be faster than it.
    memory.written = { status, version: channel.resourceVersion };
    try {
      const version = await writer.applyStatus(channel, status);
      memory.written = { status, version };
    } catch (error) {
      memory.written = before;
      throw error;
    }
    const [ready, was] = [conditionOf(status, 'Ready'), conditionOf(previous, 'Ready')];
    if (ready === null || (ready.status === was?.status && ready.reason === was.reason)) return;
    const { reason, message: note } = ready;
    logger.info({ channel: channel.key, ready: ready.status, reason }, 'readiness changed');
    await writer.record(channel, { type: ready.status === 'True' ? 'Normal' : 'Warning', reason, note });
  };

  const reconcile = async (channel: ReleaseChannel): Promise<ReconcileOutcome> => {
    if (channel.isDeleting) return (await finalizer.release(channel)) ? 'settled' : 'waiting';
    if (!hasFinalizer(channel)) {
      await finalizer.hold(channel);
      // The change that this makes brings the object back.
      return 'waiting';
    }
    const memory = memoryOf(channel.key);
    const previous = previousStatus(channel, memory);
    const isNewRequest =
      channel.requestedAt !== null && channel.requestedAt !== previous?.lastHandledReconcileAt;
    const requestedAt = isNewRequest ? channel.requestedAt : null;
    const observed = await observe(channel, requestedAt);
    const { outcomes, pods } = observed;
    const history = await historyOf(channel, observed, memory);
    const stalled = observed.obstacle ?? outcomes.find((each) => each.stalled !== null)?.stalled ?? null;
    const waiting = outcomes.find((each) => each.waiting !== null)?.waiting ?? null;
    const isHandled = outcomes.length > 0 && outcomes.every((each) => each.requestHandled);
    const status = statusOf({
      channel,
      findings: {
        channel: channel.spec.channel,
        suspended: channel.spec.suspend,
        unknownPods: observed.unknownPods,
        pods,
        stalled,
        waiting,
      },
      daemon: outcomes.find((each) => each.status !== null)?.status ?? null,
      history,
      handledRequest: isHandled ? requestedAt : null,
      previous,
      nowMs: clock.now(),
    });
    await write(channel, status, previous, memory);
    return conditionOf(status, 'Reconciling')?.status === 'True' ? 'waiting' : 'settled';
  };

  return {
    reconcile: async (key) => {
      const channel = options.channel(key);
      if (channel === undefined) {
        memories.delete(key);
        finalizer.forget(key);
        return 'gone';
      }
      try {
        return await reconcile(channel);
      } catch (error) {
        // Deleted, or changed, while it was worked on: the watch tells what is true now.
        if (hasStatus(error, 404) || hasStatus(error, 409)) return 'waiting';
        if (error instanceof HttpFailure) logger.debug({ err: error, channel: key }, 'to be tried again');
        throw error;
      }
    },
    isOwnChange: (before, after) => {
      if (before === undefined || after === undefined || before.uid !== after.uid) return false;
      const written = memories.get(after.key)?.written ?? null;
      return (
        before.generation === after.generation &&
        before.requestedAt === after.requestedAt &&
        before.isDeleting === after.isDeleting &&
        isDeepStrictEqual(before.finalizers, after.finalizers) &&
        (isDeepStrictEqual(before.status, after.status) || isDeepStrictEqual(written?.status, after.status))
      );
    },
  };
}

/** A pod that has just given no answer is not asked again by other means. */
function unreachableDaemon({ name }: PodEvidence, failure: string): DaemonOutcome {
  const waiting = { reason: 'AdminUnavailable', message: `pod ${name}: ${failure}` } as const;
  return { status: null, stalled: null, waiting, requestHandled: false };
}

/** Releases of a history that are remembered; a status shows fewer. */
const HISTORY_KEPT = 20;

/**
 * The status before this reconciliation: what was written, while the cache has not caught up with it.
 *
 * Source: resource versions of one collection are decimal numbers that grow (Kubernetes enhancement 5504).
 */
function previousStatus(channel: ReleaseChannel, { written }: Memory): ReleaseChannelStatus | null {
  if (written === null) return channel.status;
  const [cached, ours] = [Number(channel.resourceVersion), Number(written.version)];
  return cached < ours ? written.status : channel.status;
}
