import type { ReadHealth } from '../../contract/schemas/answers/health.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { ServerClient } from './server-client.ts';
import type { ServerPod } from './server-pods.ts';
import { messageOf } from '../../platform/errors.ts';

export interface PodHealth extends ServerPod {
  /** The last answer while it is fresh, else `null`. */
  readonly health: ReadHealth | null;
  readonly failure: string | null;
}

/** Asks pods for their health, and caches the answers. */
export interface PodHealthCache {
  /** Asks all pods in parallel; never throws. */
  ask(pods: readonly ServerPod[]): Promise<readonly PodHealth[]>;
  /** Drops pods that were not asked for a while. */
  sweep(): void;
}

interface CachedHealth {
  health: ReadHealth | null;
  answeredAt: number;
  failure: string | null;
  asking: Promise<void> | null;
  askedAt: number;
}

/** Objects that share a server and are reconciled together share one answer. */
const SHARE_MS = 250;

export function createPodHealthCache({
  client,
  clock,
  staleMs,
}: {
  readonly client: ServerClient;
  readonly clock: Clock;
  /** How long an answer is valid while the pod does not answer, milliseconds. */
  readonly staleMs: number;
}): PodHealthCache {
  const cache = new Map<string, CachedHealth>();

  const cachedOf = (origin: string): CachedHealth => {
    const known = cache.get(origin);
    if (known !== undefined) return known;
    const cached: CachedHealth = {
      health: null,
      answeredAt: -Infinity,
      failure: null,
      asking: null,
      askedAt: -Infinity,
    };
    cache.set(origin, cached);
    return cached;
  };

  const request = async (origin: string, cached: CachedHealth): Promise<void> => {
    cached.askedAt = clock.monotonic();
    try {
      cached.health = await client.health(origin);
      cached.answeredAt = clock.monotonic();
      cached.failure = null;
    } catch (error) {
      cached.failure = messageOf(error);
    } finally {
      cached.asking = null;
    }
  };

  const ask = async (pod: ServerPod): Promise<PodHealth> => {
    const { origin } = pod;
    const cached = cachedOf(origin);
    if (cached.asking === null && clock.monotonic() - cached.askedAt >= SHARE_MS) {
      cached.asking = request(origin, cached);
    }
    await cached.asking;
    const isFresh = clock.monotonic() - cached.answeredAt <= staleMs;
    return { ...pod, health: isFresh ? cached.health : null, failure: cached.failure };
  };

  return {
    ask: async (pods) => await Promise.all(pods.map(ask)),
    sweep: () => {
      const now = clock.monotonic();
      for (const [origin, cached] of cache) if (now - cached.askedAt > 2 * staleMs) cache.delete(origin);
    },
  };
}
