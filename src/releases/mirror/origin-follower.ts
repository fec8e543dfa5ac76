import { instant } from '../../domain/instant.ts';
import type { AttestationStatement } from '../../domain/verdict/attestation.ts';
import type { ReleaseParts } from '../release-parts.ts';
import { hasMissingEarlier, isBehind } from './origin-state.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { MirrorError } from '../../mirror/mirror-error.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import { tryToStore } from '../../engine/database/store-when-possible.ts';
import { callOf } from '../../engine/tasks/job.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { UpstreamSource } from '../../upstream/adapters/upstream-source.ts';
import { failureText, UpstreamError } from '../../upstream/upstream.ts';
import { SYNC_JOB } from '../jobs/release-jobs.ts';
import { announcementStep } from './mirror-plan.ts';
import { createFailedPolls, type FailedPolls } from './origin-trouble.ts';
import { readOrigin } from './read-origin.ts';

const IDLE_MS = 5_000;
const RETRY_MS = 30_000;
/**
 * Longest wait between two polls that the origin can ask for, milliseconds. A poll is one small request, and an origin that is overloaded
 * for some seconds must not keep an edge from a new release for minutes.
 */
const POLL_WAIT_MAX_MS = 60_000;
/** The part of an interval by which each poll is early or late, so that edges do not ask together. */
const JITTER = 0.1;

interface OriginFollower extends Loop {
  /** When a poll can queue the next sync after one that failed, Unix seconds; `null` while none failed or nothing is followed. */
  retryAt(): number | null;
  /** Why and since when the origin cannot be followed; `null` while it can. */
  trouble(): ReturnType<FailedPolls['trouble']>;
}

/** Takes over another time of an announced release. That needs no sync, and must not wait for one: the new time can be near. */
async function restateAnnouncements(
  { origins, releases, attestor, clock, logger }: ReleaseParts,
  { channels, isCarried }: AttestedUpstream,
): Promise<void> {
  const held = origins.held();
  if (held === null || isCarried === true) return;
  for (const channel of channels) {
    const step = announcementStep(releases, held.statement, channel, unixSeconds(clock));
    if (step.kind !== 'restate') continue;
    // A sync that ends meanwhile can have announced another one, or taken this one back.
    if ((await attestor.restate(step.announced, step.currentAt)) === null) continue;
    const { release_id } = step.announced;
    const about = { channel, release_id, current_at: step.currentAt };
    logger.info(about, 'the announced release has another time');
  }
}

/** Every report shows a sync that failed, so trouble that lasts is reported by a sync. */
function reportTrouble({ engine, logger }: ReleaseParts, trouble: FailedPolls): void {
  if (!trouble.isLong()) return;
  tryToStore(
    () => {
      if (engine.historyOf(SYNC_JOB.kind).consecutiveFailures > 0) return;
      engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true });
      trouble.reported();
    },
    'the sync that reports the trouble with the origin',
    logger,
  );
}

/**
 * Follows the origin of an edge: polls it for a new attestation, and queues a sync when that names other releases, and when the last
 * sync failed. Without an origin it only checks whether one is configured.
 */
export function createOriginFollower(parts: ReleaseParts, upstream: UpstreamSource): OriginFollower {
  const { engine, clock, logger, origins, releases, attestor } = parts;
  let known: { readonly of: AttestedUpstream; readonly tag: string | null } | null = null;
  let followed: AttestedUpstream | undefined;
  const trouble = createFailedPolls(clock);
  /** When the last poll began, Unix milliseconds. */
  let began = clock.now();
  let nextPollAtMs = 0;

  const nextPoll = (waitMs: number): number => {
    nextPollAtMs = clock.now() + waitMs;
    return waitMs;
  };

  const isSyncNeeded = (origin: AttestedUpstream, isNew: boolean): boolean => {
    const statement = origins.held()?.statement;
    if (statement === undefined || isBehind(origin, statement, releases, unixSeconds(clock))) return true;
    // An earlier release that could not be copied waits for the next attestation of the origin, not for the next poll.
    return isNew && hasMissingEarlier(origin, statement, releases, parts.configuration().retention.retained);
  };

  /**
   * @param isNew whether the poll found another attestation
   * @param isAgain whether the poll before it failed
   */
  const catchUp = async (origin: AttestedUpstream, isNew: boolean, isAgain: boolean): Promise<void> => {
    const isNeeded = isSyncNeeded(origin, isNew);
    // Nothing is attested without a recent attestation of the origin. Here is one.
    if (!isNeeded && isNew && attestor.status().status === 'failing') await attestor.issue('origin');
    const { last, consecutiveFailures } = engine.historyOf(SYNC_JOB.kind);
    const hasFailed = consecutiveFailures > 0;
    // The state of the service shows a failure until a sync succeeds, even when there is nothing to fetch.
    if (!isNeeded && !hasFailed) return;
    const sinceMs = clock.now() - (last?.finished_at ?? 0) * 1000;
    if (isNew || isAgain || !hasFailed || sinceMs >= RETRY_MS)
      engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true });
  };

  const poll = async (origin: AttestedUpstream, signal: AbortSignal): Promise<void> => {
    const tag = known?.of === origin ? known.tag : null;
    const found = await readOrigin(parts, origin, tag, signal);
    if (found === null) requireValid(origin, origins.held()?.statement, clock);
    else known = { of: origin, tag: found.tag };
    const isAgain = trouble.message() !== null;
    if (isAgain) logger.info({ origin: origin.source.label }, 'the origin can be followed again');
    trouble.end();
    await restateAnnouncements(parts, origin);
    await catchUp(origin, found !== null, isAgain);
  };

  const loop = createLoop({
    clock,
    turn: async (signal) =>
      await upstream.use(async (connected) => {
        const origin = connected?.attested;
        if (origin !== followed) trouble.end();
        followed = origin;
        if (origin === undefined) return IDLE_MS;
        began = nextPollAtMs = clock.now();
        reportTrouble(parts, trouble);
        await poll(origin, signal);
        return nextPoll(pollWaitMs(origin, parts.random()));
      }),
    onFailure: (error) => {
      const message = messageOf(error);
      if (message !== trouble.message()) {
        logger.warn({ err: error }, `the origin cannot be followed: ${failureText(error, clock.now())}`);
      }
      trouble.note(error, Math.floor(began / 1000));
      const origin = upstream.current()?.attested;
      if (origin === undefined) return IDLE_MS;
      return nextPoll(pollWaitMs(origin, parts.random(), error));
    },
  });
  return {
    ...loop,
    trouble: () => trouble.trouble(),
    retryAt: () => {
      if (upstream.current()?.attested === undefined) return null;
      const { last, consecutiveFailures } = engine.historyOf(SYNC_JOB.kind);
      if (consecutiveFailures === 0) return null;
      // A sync that fails although the origin answers waits for longer.
      const restedMs = trouble.message() === null ? (last?.finished_at ?? 0) * 1000 + RETRY_MS : 0;
      return Math.ceil(Math.max(nextPollAtMs, restedMs) / 1000);
    },
  };
}

/**
 * Refuses an origin that says again and again that nothing has changed, until its attestation has expired: its daemon renews it no
 * longer, or a cache answers in its place.
 *
 * @throws MirrorError `origin_expired`
 */
function requireValid(
  { isCarried }: AttestedUpstream,
  statement: AttestationStatement | undefined,
  clock: Clock,
): void {
  if (isCarried === true || statement === undefined || statement.expires_at > unixSeconds(clock)) return;
  throw new MirrorError(
    'origin_expired',
    `attestation version ${statement.version} of the origin expired at ${instant(statement.expires_at)}, and the origin says that nothing has changed; its daemon renews none, or a cache answers in its place`,
    { retryable: true },
  );
}

/**
 * Milliseconds to the next poll.
 *
 * @param random in [0, 1)
 * @param error why the last poll failed; the origin can have said when to ask again, of which a minute is honoured
 */
function pollWaitMs({ pollMs }: AttestedUpstream, random: number, error?: unknown): number {
  const askedMs = error instanceof UpstreamError ? (error.retryAfterMs ?? 0) : 0;
  const waitMs = Math.min(askedMs, POLL_WAIT_MAX_MS);
  return Math.max(pollMs * (1 - JITTER + 2 * JITTER * random), waitMs * (1 + JITTER * random));
}
