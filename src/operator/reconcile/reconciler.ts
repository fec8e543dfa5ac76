import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../platform/process/clock.ts';
import { HttpFailure } from '../../platform/http/http-client.ts';
import { hasStatus } from '../../platform/kubernetes/kubernetes-error.ts';
import type { Leadership } from '../election/leadership.ts';
import { withoutOldFinalizer, type ReleaseChannel } from '../kubernetes/objects.ts';
import type { ServerClient } from '../pods/server-client.ts';
import { conditionOf } from './condition-of.ts';
import { createEarlySwitch } from './early-switch.ts';
import { createHistoryReader } from './history-reader.ts';
import { createObserver, type Observation, type ObserverOptions } from './observer.ts';
import type { ScheduleCleaner } from './schedule-cleaner.ts';
import {
  createStatusWriter,
  previousStatus,
  type ChannelMemory,
  type StatusWriterOptions,
} from './status-writer.ts';
import { restingChannel } from './resting-channel.ts';
import { statusOf, type StatusInput } from './status.ts';

/** The results of a reconciliation. */
export const RECONCILE_OUTCOMES = [
  /** The object is as specified, or a person must act: reconcile again after the interval. */
  'settled',
  /** A problem that passes by itself: reconcile again sooner. */
  'waiting',
  /** The object is gone. */
  'gone',
] as const;

/** One of {@link RECONCILE_OUTCOMES}. */
export type ReconcileOutcome = (typeof RECONCILE_OUTCOMES)[number];

/** Brings one object at a time to the state that its spec asks for, and reports the actual state. */
export interface Reconciler {
  /** @throws KubernetesError, HttpFailure, LeadershipLost; the call can be repeated */
  reconcile(key: string): Promise<ReconcileOutcome>;
  /** Whether a change of an object is only the status that this process wrote. */
  isOwnChange(before: ReleaseChannel | undefined, after: ReleaseChannel | undefined): boolean;
}

/** The parts that a reconciliation uses. */
export interface ReconcilerOptions extends ObserverOptions, StatusWriterOptions {
  readonly channel: (key: string) => ReleaseChannel | undefined;
  readonly client: Pick<ServerClient, 'releases' | 'control'>;
  readonly leadership: Leadership;
  readonly cleaner: ScheduleCleaner;
  readonly clock: Clock;
}

/**
 * Makes a reconciler. It looks at the pods, their evidence, the token and the daemons, in this order. It writes one status
 * patch at the end, and only when something changed.
 */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { cleaner, clock, logger } = options;
  const memories = new Map<string, ChannelMemory>();
  const observe = createObserver(options);
  const writeStatus = createStatusWriter(options);
  const readHistory = createHistoryReader(options);
  const switchEarly = createEarlySwitch(options);

  const memoryOf = (key: string): ChannelMemory => {
    const known = memories.get(key) ?? { written: null, history: null };
    memories.set(key, known);
    return known;
  };

  const reconcile = async (channel: ReleaseChannel): Promise<ReconcileOutcome> => {
    const finalizers = withoutOldFinalizer(channel);
    if (finalizers !== null) {
      await options.writer.setFinalizers(channel, finalizers);
      // The resulting change puts the object back into the queue.
      return 'waiting';
    }
    if (channel.isDeleting) {
      cleaner.deleted(channel);
      return (await cleaner.clean(channel.key)) ? 'settled' : 'waiting';
    }
    cleaner.forget(channel.key);
    const memory = memoryOf(channel.key);
    const previous = previousStatus(channel, memory);
    const isNewRequest =
      channel.requestedAt !== null && channel.requestedAt !== previous?.lastHandledReconcileAt;
    const requestedAt = isNewRequest ? channel.requestedAt : null;
    const observed = await observe(channel, requestedAt);
    await switchEarly(channel, observed);
    const history = await readHistory(channel, observed, memory);
    const status = statusOf({
      channel,
      ...findingsOf(channel, observed),
      history,
      edges: observed.edges,
      handledRequest: isHandled(observed) ? requestedAt : null,
      previous,
      nowMs: clock.now(),
    });
    await writeStatus(channel, status, previous, memory);
    return conditionOf(status, 'Reconciling')?.status === 'True' ? 'waiting' : 'settled';
  };

  return {
    reconcile: async (key) => {
      const channel = options.channel(key);
      if (channel === undefined) {
        memories.delete(key);
        return (await cleaner.clean(key)) ? 'gone' : 'waiting';
      }
      try {
        return await reconcile(channel);
      } catch (error) {
        // The object was deleted or changed in the meantime; the watch brings its new state.
        if (hasStatus(error, 404) || hasStatus(error, 409)) return 'waiting';
        if (error instanceof HttpFailure) logger.debug({ err: error, channel: key }, 'will be retried');
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

function isHandled({ outcomes }: Observation): boolean {
  return outcomes.length > 0 && outcomes.every(({ requestHandled }) => requestHandled);
}

/** The first problem of each sort stands for all. */
function findingsOf(
  { spec }: ReleaseChannel,
  { unknownPods, pods, draining, outcomes, obstacle }: Observation,
): Pick<StatusInput, 'findings' | 'daemons'> {
  const stalled = obstacle ?? outcomes.find((each) => each.stalled !== null)?.stalled ?? null;
  const waiting = outcomes.find((each) => each.waiting !== null)?.waiting ?? null;
  const crashLoop = outcomes.find((each) => each.crashLoop !== null)?.crashLoop ?? null;
  // Translations belong to one daemon: the chart refuses them for several.
  const reports = outcomes.flatMap(({ texts }) => (texts === null ? [] : [texts]));
  const texts = reports.find(({ ok }) => ok) ?? reports[0] ?? null;
  const daemons = outcomes.flatMap(({ status }) => (status === null ? [] : [status]));
  return {
    findings: {
      channel: spec.channel,
      suspended: spec.suspend,
      wanted: spec.release ?? null,
      resting: restingChannel(spec, pods, daemons),
      unknownPods,
      pods,
      draining,
      stalled,
      waiting,
      crashLoop,
      texts,
    },
    daemons,
  };
}
