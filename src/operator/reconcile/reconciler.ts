import { isDeepStrictEqual } from 'node:util';
import type { ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';
import { isCalm } from '../../domain/service-state/calm-reasons.ts';
import { HttpFailure } from '../../platform/http/http-client.ts';
import { hasStatus } from '../../platform/kubernetes/kubernetes-error.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { ChannelWriter } from '../channels/channel-writer.ts';
import { conditionOf, type ReleaseChannel } from '../kubernetes/objects.ts';
import type { ReleaseRow, ReleaseStatus } from '../pods/server-client.ts';
import { createEarlySwitch } from './early-switch.ts';
import type { Findings } from './conditions.ts';
import { observe, type Observation, type ObserverOptions } from './observer.ts';
import { restingChannel } from './resting-channel.ts';
import type { ScheduleCleaner } from './schedule-cleaner.ts';
import { statusOf } from './status.ts';
import { syncEvent } from './sync-status.ts';

/** The results of a reconciliation. */
export const RECONCILE_OUTCOMES = [
  /** The object is as specified, or a person must act: reconcile again after the interval. */
  'settled',
  /** A problem that ends automatically: reconcile again sooner. */
  'waiting',
  'gone',
] as const;

export type ReconcileOutcome = (typeof RECONCILE_OUTCOMES)[number];

export interface Reconciler {
  /** @throws KubernetesError, HttpFailure, LeadershipLost; the call can be repeated */
  reconcile(key: string): Promise<ReconcileOutcome>;
  /** Whether a change of an object is only the status that this process wrote. */
  isOwnChange(before: ReleaseChannel | undefined, after: ReleaseChannel | undefined): boolean;
}

interface ReconcilerOptions extends ObserverOptions {
  readonly writer: ChannelWriter;
  readonly cleaner: ScheduleCleaner;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** State of an object that is kept between two reconciliations; all of it can be rebuilt. */
interface ChannelMemory {
  /** The status written last, and the resource version of the object that carries it. */
  written: { readonly status: ReleaseChannelStatus; readonly version: string } | null;
  /** The history, and the state of the current release for which it was read. */
  history: { readonly of: string; readonly rows: readonly ReleaseRow[] } | null;
}

/** Releases of a history that are kept; a status shows fewer. */
const HISTORY_KEPT = 20;

/**
 * Makes a reconciler. It reads the pods, their evidence, the token and the daemons, in this order. It writes one status
 * patch at the end, and only when something changed.
 */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { cleaner, clock, logger } = options;
  const memories = new Map<string, ChannelMemory>();
  const switchEarly = createEarlySwitch(options);

  const memoryOf = (key: string): ChannelMemory => {
    const known = memories.get(key) ?? { written: null, history: null };
    memories.set(key, known);
    return known;
  };

  const reconcile = async (channel: ReleaseChannel): Promise<ReconcileOutcome> => {
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
    const observed = await observe(options, channel, requestedAt);
    await switchEarly(channel, observed);
    const history = await readHistory(options, channel, observed, memory);
    const status = statusOf({
      generation: channel.generation,
      ...findingsOf(channel, observed),
      history,
      edges: observed.edges,
      handledRequest: isHandled(observed) ? requestedAt : null,
      previous,
      nowMs: clock.now(),
    });
    await writeStatus(options, channel, status, previous, memory);
    return conditionOf(status, 'Reconciling')?.status === 'True' ? 'waiting' : 'settled';
  };

  return {
    reconcile: async (key) => {
      const channel = options.view.channel(key);
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
        (isDeepStrictEqual(before.status, after.status) || isDeepStrictEqual(written?.status, after.status))
      );
    },
  };
}

function isHandled({ outcomes }: Observation): boolean {
  return outcomes.length > 0 && outcomes.every(({ requestHandled }) => requestHandled);
}

/**
 * The history of a channel, newest first. It is long, so it is read only when the current release or its verification
 * changed; `null` until it was read once.
 */
async function readHistory(
  { client, logger }: ReconcilerOptions,
  channel: ReleaseChannel,
  { token, pods, outcomes }: Observation,
  memory: ChannelMemory,
): Promise<readonly ReleaseRow[] | null> {
  const at = outcomes.findIndex(({ status }) => status !== null);
  const [status, pod] = [outcomes[at]?.status ?? null, pods[at]];
  if (status === null || pod === undefined || token === null) return memory.history?.rows ?? null;
  const current = status[channel.spec.channel];
  const of = `${current?.release_id} ${current?.state} ${current?.verified_at} ${current?.damaged_count}`;
  if (memory.history?.of === of) return memory.history.rows;
  try {
    const rows = await client.releases(pod.origin, token, channel.spec.channel);
    memory.history = { of, rows: rows.slice(0, HISTORY_KEPT) };
  } catch (error) {
    logger.debug({ err: error, channel: channel.key }, 'cannot read the history');
  }
  return memory.history?.rows ?? null;
}

/** Writes a status if it differs from the previous one, and an event if readiness or the syncs changed. */
export async function writeStatus(
  { writer, logger }: { writer: ChannelWriter; logger: Logger },
  channel: ReleaseChannel,
  status: ReleaseChannelStatus,
  previous: ReleaseChannelStatus | null,
  memory: ChannelMemory,
): Promise<void> {
  if (isDeepStrictEqual(status, previous)) return;
  const before = memory.written;
  // Set before the answer, because the watch may be faster.
  memory.written = { status, version: channel.resourceVersion };
  try {
    const version = await writer.applyStatus(channel, status);
    memory.written = { status, version };
  } catch (error) {
    memory.written = before;
    throw error;
  }
  const sync = syncEvent(status.sync, previous?.sync);
  if (sync !== null) await writer.record(channel, sync);
  const [ready, was] = [conditionOf(status, 'Ready'), conditionOf(previous, 'Ready')];
  if (ready === null || (ready.status === was?.status && ready.reason === was.reason)) return;
  const { reason, message: note } = ready;
  logger.info({ channel: channel.key, ready: ready.status, reason }, 'readiness changed');
  const isGood = ready.status === 'True' || isCalm(channel.spec.channel, reason);
  await writer.record(channel, { type: isGood ? 'Normal' : 'Warning', reason, note });
}

/**
 * The status before this reconciliation: the one written last, until the cache has caught up with it.
 *
 * Source: resource versions of one collection are increasing decimal numbers (Kubernetes enhancement 5504).
 */
function previousStatus(channel: ReleaseChannel, { written }: ChannelMemory): ReleaseChannelStatus | null {
  if (written === null) return channel.status;
  return Number(channel.resourceVersion) < Number(written.version) ? written.status : channel.status;
}

/** The first problem of each sort stands for all. */
function findingsOf(
  { spec }: ReleaseChannel,
  { unknownPods, pods, draining, outcomes, obstacle }: Observation,
): { readonly findings: Findings; readonly daemons: readonly ReleaseStatus[] } {
  const stalled = obstacle ?? outcomes.find((each) => each.stalled !== null)?.stalled ?? null;
  const waiting = outcomes.find((each) => each.waiting !== null)?.waiting ?? null;
  const crashLoop = outcomes.find((each) => each.crashLoop !== null)?.crashLoop ?? null;
  // Translations belong to one daemon: the chart refuses them for several.
  const reports = outcomes.flatMap(({ texts }) => (texts === null ? [] : [texts]));
  const texts = reports.find(({ ok }) => ok) ?? reports[0] ?? null;
  const daemons = outcomes.flatMap(({ status }) => (status === null ? [] : [status]));
  const { channel, release: wanted = null } = spec;
  const isPublished = daemons.some(({ localized }) => localized !== null);
  return {
    findings: {
      channel,
      suspended: spec.suspend,
      wanted,
      resting: restingChannel({ channel, wanted }, pods, isPublished),
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
