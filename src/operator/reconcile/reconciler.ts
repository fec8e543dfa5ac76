import { isDeepStrictEqual } from 'node:util';
import { HttpFailure } from '../../platform/http/http-client.ts';
import { hasStatus } from '../../platform/kubernetes/kubernetes-error.ts';
import { conditionOf, type ReleaseChannel } from '../kubernetes/objects.ts';
import type { ReleaseRow, ReleaseStatus } from '../pods/server-client.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import { createEarlySwitch } from './early-switch.ts';
import type { Findings } from './conditions.ts';
import { observe, type Observation, type ObserverOptions } from './observer.ts';
import { restingChannel } from './resting-channel.ts';
import type { ScheduleCleaner } from './schedule-cleaner.ts';
import { statusOf } from './status.ts';
import { previousStatus, writeStatus, type StatusMemory, type StatusWriting } from './write-status.ts';

/** The results of a reconciliation. */
export const RECONCILE_OUTCOMES = [
  /** The object is as specified, or a person must act: reconcile again after the interval. */
  'settled',
  /** A problem that ends automatically: reconcile again sooner. */
  'waiting',
  /** A task runs, or pods follow its result: reconcile again at once. */
  'following',
  'gone',
] as const;

export type ReconcileOutcome = (typeof RECONCILE_OUTCOMES)[number];

export interface Reconciled {
  readonly outcome: ReconcileOutcome;
  /** When something is expected to happen before the interval, in milliseconds; else `null`. */
  readonly againMs: number | null;
}

export interface Reconciler {
  /** @throws KubernetesError, HttpFailure, LeadershipLost; the call can be repeated */
  reconcile(key: string): Promise<Reconciled>;
  /** Whether a change of an object is only the status that this process wrote. */
  isOwnChange(before: ReleaseChannel | undefined, after: ReleaseChannel | undefined): boolean;
}

interface ReconcilerOptions extends ObserverOptions, StatusWriting {
  readonly cleaner: ScheduleCleaner;
}

/** State of an object that is kept between two reconciliations; all of it can be rebuilt. */
interface ChannelMemory extends StatusMemory {
  /** The history, and the state of the current release for which it was read. */
  history: { readonly of: string; readonly rows: readonly ReleaseRow[] } | null;
  /** The task, or the switch of the pods, that is followed, and since when, monotonic milliseconds. */
  followed: { readonly what: string; readonly since: number } | null;
  /** The planned sync whose end is awaited: its time, Unix milliseconds, and the sync that ended before it. */
  awaited: AwaitedSync | null;
}

interface AwaitedSync {
  readonly at: number;
  readonly after: string | null;
}

/** How long a pod that serves another release than its daemon is waited for; one that stays behind longer has another reason. */
const BEHIND_MAX_MS = 30_000;
/** The first pause between two looks at a running task. */
export const FOLLOW_MS = 500;

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
    const known = memories.get(key) ?? { written: null, history: null, followed: null, awaited: null };
    memories.set(key, known);
    return known;
  };

  const reconcile = async (channel: ReleaseChannel): Promise<Reconciled> => {
    if (channel.isDeleting) {
      cleaner.deleted(channel);
      return { outcome: (await cleaner.clean(channel.key)) ? 'settled' : 'waiting', againMs: null };
    }
    cleaner.forget(channel.key);
    const memory = memoryOf(channel.key);
    const previous = previousStatus(channel, memory);
    const isNewRequest =
      channel.requestedAt !== null && channel.requestedAt !== previous?.lastHandledReconcileAt;
    const requestedAt = isNewRequest && !channel.spec.suspend ? channel.requestedAt : null;
    const observed = await observe(options, channel, requestedAt);
    await switchEarly(channel, observed);
    const history = await readHistory(options, channel, observed, memory);
    const followed = followUp(channel, observed, memory, requestedAt, clock.monotonic());
    const { findings, daemons } = findingsOf(channel, observed);
    const status = statusOf({
      generation: channel.generation,
      findings: {
        ...findings,
        waiting: findings.waiting ?? followed.waiting,
        gaps: options.definition.gaps(),
      },
      daemons,
      history,
      edges: observed.edges,
      handledRequest: followed.handled,
      previous,
      nowMs: clock.now(),
    });
    await writeStatus(options, channel, status, previous, memory);
    const isWaiting = conditionOf(status, 'Reconciling')?.status === 'True';
    return {
      outcome: followed.againMs !== null ? 'following' : isWaiting ? 'waiting' : 'settled',
      againMs: followed.againMs ?? untilSyncMs(daemons, memory, clock.now()),
    };
  };

  return {
    reconcile: async (key) => {
      const channel = options.view.channel(key);
      if (channel === undefined) {
        memories.delete(key);
        return { outcome: (await cleaner.clean(key)) ? 'gone' : 'waiting', againMs: null };
      }
      try {
        return await reconcile(channel);
      } catch (error) {
        // The object was deleted or changed in the meantime; the watch brings its new state.
        if (hasStatus(error, 404) || hasStatus(error, 409)) return { outcome: 'waiting', againMs: null };
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
        (isDeepStrictEqual(before.status, after.status) || isDeepStrictEqual(written?.stored, after.status))
      );
    },
  };
}

/** When a task or the pods that are followed are looked at again, and the request that is handled with it. */
function followUp(
  { spec }: ReleaseChannel,
  { outcomes, pods }: Observation,
  memory: ChannelMemory,
  requestedAt: string | null,
  now: number,
): { readonly againMs: number | null; readonly handled: string | null; readonly waiting: Obstacle | null } {
  const at = outcomes.findIndex(({ behind }) => behind !== null);
  const isRunning = outcomes.some((each) => each.isRunning === true);
  const current = outcomes.map(({ status }) => status?.[spec.channel]?.release_id).join(' ');
  const what = `${requestedAt} ${isRunning} ${current}`;
  if (!isRunning && at === -1) memory.followed = null;
  else if (memory.followed?.what !== what) memory.followed = { what, since: now };
  const forMs = now - (memory.followed?.since ?? now);
  const isLoading = outcomes.some(({ behind }) => behind === 'loading');
  const isBehind = isLoading || (at !== -1 && forMs <= BEHIND_MAX_MS);
  const hasEnded = outcomes.length > 0 && outcomes.every((each) => each.isRunning === false);
  const message = `pod ${pods[at]?.name}: it does not serve the current ${spec.channel} release of its daemon yet`;
  return {
    againMs: isRunning || isBehind ? pauseMs(forMs) : null,
    handled: hasEnded && !isBehind ? requestedAt : null,
    waiting: isBehind && requestedAt !== null ? { reason: 'RequestInProgress', message } : null,
  };
}

/** What takes long is looked at less often. */
function pauseMs(sinceMs: number): number {
  return Math.max(FOLLOW_MS, sinceMs / 10);
}

/**
 * When the end of a planned sync is looked for, milliseconds: when it starts, and then after pauses that grow with its length.
 *
 * @returns `null` when none is planned
 */
export function untilSyncMs(
  daemons: readonly ReleaseStatus[],
  memory: { awaited: AwaitedSync | null },
  nowMs: number,
): number | null {
  const [daemon] = daemons;
  if (daemon === undefined) return null;
  const { last, next_at: nextAt } = daemon.sync;
  const after = last?.task_id ?? null;
  const { awaited } = memory;
  // A planned sync may end without a trace, for example when another one ran: then the next one has its turn.
  const isNextDue =
    awaited !== null && nextAt !== null && nextAt * 1000 > awaited.at && nextAt * 1000 <= nowMs;
  const isAwaited = awaited !== null && awaited.after === after && awaited.at <= nowMs && !isNextDue;
  if (!isAwaited) memory.awaited = nextAt === null ? null : { at: nextAt * 1000, after };
  if (memory.awaited === null) return null;
  const left = memory.awaited.at - nowMs;
  return left > 0 ? left + FOLLOW_MS : pauseMs(-left);
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

/** The first problem of each sort stands for all. */
function findingsOf(
  { spec }: ReleaseChannel,
  { unknownPods, pods, draining, outcomes, obstacle }: Observation,
): { readonly findings: Omit<Findings, 'gaps'>; readonly daemons: readonly ReleaseStatus[] } {
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
