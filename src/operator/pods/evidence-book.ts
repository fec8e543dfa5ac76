import type { ReadHealth } from '../../contract/schemas/answers/health.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { ServerClient } from './server-client.ts';
import type { ServerPod } from './server-pods.ts';
import { messageOf } from '../../platform/errors.ts';

export interface PodEvidence extends ServerPod {
  /** The last answer while it is fresh, else `null`. */
  readonly health: ReadHealth | null;
  readonly failure: string | null;
}

/** Asks pods for their health and keeps the answers for a while. */
export interface EvidenceBook {
  /** Asks all pods in parallel; never throws. */
  ask(pods: readonly ServerPod[]): Promise<readonly PodEvidence[]>;
  /** Drops pods that were not asked for a while. */
  sweep(): void;
}

interface Page {
  health: ReadHealth | null;
  answeredAt: number;
  failure: string | null;
  asking: Promise<void> | null;
  askedAt: number;
}

/** Objects that share a server and are reconciled together share one answer. */
const SHARE_MS = 1_000;

export function createEvidenceBook({
  client,
  clock,
  staleMs,
}: {
  readonly client: ServerClient;
  readonly clock: Clock;
  /** How long an answer is valid while the pod does not answer, milliseconds. */
  readonly staleMs: number;
}): EvidenceBook {
  const pages = new Map<string, Page>();

  const pageOf = (origin: string): Page => {
    const known = pages.get(origin);
    if (known !== undefined) return known;
    const page: Page = {
      health: null,
      answeredAt: -Infinity,
      failure: null,
      asking: null,
      askedAt: -Infinity,
    };
    pages.set(origin, page);
    return page;
  };

  const request = async (origin: string, page: Page): Promise<void> => {
    page.askedAt = clock.monotonic();
    try {
      page.health = await client.health(origin);
      page.answeredAt = clock.monotonic();
      page.failure = null;
    } catch (error) {
      page.failure = messageOf(error);
    } finally {
      page.asking = null;
    }
  };

  const ask = async (pod: ServerPod): Promise<PodEvidence> => {
    const { origin } = pod;
    const page = pageOf(origin);
    if (page.asking === null && clock.monotonic() - page.askedAt >= SHARE_MS) {
      page.asking = request(origin, page);
    }
    await page.asking;
    const isFresh = clock.monotonic() - page.answeredAt <= staleMs;
    return { ...pod, health: isFresh ? page.health : null, failure: page.failure };
  };

  return {
    ask: async (pods) => await Promise.all(pods.map(ask)),
    sweep: () => {
      const now = clock.monotonic();
      for (const [origin, page] of pages) if (now - page.askedAt > 2 * staleMs) pages.delete(origin);
    },
  };
}
