import { unixSeconds } from '../../../platform/process/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import { createLoop } from '../../../platform/process/loop.ts';
import { tryToStore } from '../../database/store-when-possible.ts';
import { callOf } from '../../tasks/job.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { UpstreamSource } from '../../upstream/adapters/upstream-source.ts';
import { failureText, UpstreamError } from '../../upstream/upstream.ts';
import type { Attestor } from '../attest/attestor.ts';
import { SYNC_JOB } from '../jobs/release-jobs.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { announcementStep } from './announcement-step.ts';
import { isBehind, lacksEarlier } from './behind-origin.ts';
import { createOriginTrouble, type OriginTrouble } from './origin-trouble.ts';
import { readOrigin, type ReadOriginDependencies } from './read-origin.ts';

/** Milliseconds between two looks whether an origin is configured. */
const IDLE_MS = 5_000;
/** Milliseconds from a sync that failed to the next one for the same attestation. */
const RETRY_MS = 30_000;
/**
 * Longest wait between two looks that the origin can ask for, milliseconds. A look is one small request, and an origin that is overloaded
 * for some seconds must not keep an edge from a new release for minutes.
 */
const LOOK_WAIT_MAX_MS = 60_000;
/** The part of an interval by which each look is early or late, so that edges do not ask together. */
const JITTER = 0.1;

export interface OriginFollowerOptions extends ReadOriginDependencies {
  readonly upstream: UpstreamSource;
  readonly engine: Pick<TaskEngine, 'submit' | 'historyOf'>;
  readonly releases: Pick<ReleaseRepository, 'current' | 'pointer' | 'announcedOf' | 'get'>;
  /** Number of earlier releases of a channel that stay reachable here. */
  readonly retainedCount: () => number;
  readonly attestor: Pick<Attestor, 'issue' | 'restate' | 'status'>;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Pick<Logger, 'error' | 'warn' | 'info'>;
}

/**
 * Follows the origin of an edge: it looks for a new attestation, and queues a sync when that names other releases, and when the last
 * sync failed.
 */
export interface OriginFollower {
  start(): void;
  stop(): Promise<void>;
  /** When a look can queue the next sync after one that failed, Unix seconds; `null` while none failed or nothing is followed. */
  retryAt(): number | null;
}

/** Takes over another time of an announced release. That needs no sync, and must not wait for one: the new time can be near. */
async function restateAnnouncements(
  { origins, releases, attestor, clock, logger }: OriginFollowerOptions,
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

/** Every surface shows a sync that failed, so trouble that lasts becomes that of a sync. */
function reportTrouble({ engine, logger }: OriginFollowerOptions, trouble: OriginTrouble): void {
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

/** Creates the follower. Without an origin it only looks whether one is configured. */
export function createOriginFollower(options: OriginFollowerOptions): OriginFollower {
  const { upstream, engine, clock, logger } = options;
  let known: { readonly of: AttestedUpstream; readonly tag: string | null } | null = null;
  let followed: AttestedUpstream | undefined;
  const trouble = createOriginTrouble(clock);
  let nextLookAtMs = 0;

  const nextLook = (waitMs: number): number => {
    nextLookAtMs = clock.now() + waitMs;
    return waitMs;
  };

  /**
   * @param isNew whether the look found another attestation
   * @param isAgain whether the look before it failed
   */
  const catchUp = async (origin: AttestedUpstream, isNew: boolean, isAgain: boolean): Promise<void> => {
    // An earlier release that could not be copied waits for the next attestation of the origin, not for the next look.
    const isNeeded = isBehind(options, origin) || (isNew && lacksEarlier(options, origin));
    // Nothing is attested without a recent attestation of the origin. Here is one.
    if (!isNeeded && isNew && options.attestor.status().status === 'failing')
      await options.attestor.issue('origin');
    const { last, consecutiveFailures } = engine.historyOf(SYNC_JOB.kind);
    const hasFailed = consecutiveFailures > 0;
    // The state of the service tells a failure until a sync succeeds, also when there is nothing to fetch.
    if (!isNeeded && !hasFailed) return;
    const sinceMs = clock.now() - (last?.finished_at ?? 0) * 1000;
    if (isNew || isAgain || !hasFailed || sinceMs >= RETRY_MS)
      engine.submit({ ...callOf(SYNC_JOB, {}), dedupe: true });
  };

  const look = async (origin: AttestedUpstream, signal: AbortSignal): Promise<void> => {
    const tag = known?.of === origin ? known.tag : null;
    const found = await readOrigin(options, origin, tag, signal);
    if (found !== null) known = { of: origin, tag: found.tag };
    const isAgain = trouble.message() !== null;
    if (isAgain) logger.info({ origin: origin.source.label }, 'the origin can be followed again');
    trouble.end();
    await restateAnnouncements(options, origin);
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
        nextLookAtMs = clock.now();
        reportTrouble(options, trouble);
        await look(origin, signal);
        return nextLook(nextLookMs(origin, options.random()));
      }),
    onFailure: (error) => {
      const message = messageOf(error);
      if (message !== trouble.message()) {
        logger.warn({ err: error }, `the origin cannot be followed: ${failureText(error, clock.now())}`);
      }
      trouble.note(message);
      const origin = upstream.current()?.attested;
      if (origin === undefined) return IDLE_MS;
      return nextLook(nextLookMs(origin, options.random(), error));
    },
  });
  return {
    start: () => {
      loop.start();
    },
    stop: async () => {
      await loop.stop();
    },
    retryAt: () => {
      if (upstream.current()?.attested === undefined) return null;
      const { last, consecutiveFailures } = engine.historyOf(SYNC_JOB.kind);
      if (consecutiveFailures === 0) return null;
      // A sync that fails although the origin answers waits for longer.
      const restedMs = trouble.message() === null ? (last?.finished_at ?? 0) * 1000 + RETRY_MS : 0;
      return Math.ceil(Math.max(nextLookAtMs, restedMs) / 1000);
    },
  };
}

/**
 * Milliseconds to the next look.
 *
 * @param random in [0, 1)
 * @param error why the last look failed; the origin can have said when to ask again, of which a minute is honoured
 */
function nextLookMs({ pollMs }: AttestedUpstream, random: number, error?: unknown): number {
  const askedMs = error instanceof UpstreamError ? (error.retryAfterMs ?? 0) : 0;
  const waitMs = Math.min(askedMs, LOOK_WAIT_MAX_MS);
  return Math.max(pollMs * (1 - JITTER + 2 * JITTER * random), waitMs * (1 + JITTER * random));
}
