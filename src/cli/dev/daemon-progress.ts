import { createHttpClient, HttpFailure, parseJsonAnswer } from '../../platform/http/http-client.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Progress } from '../output/progress-line.ts';

const POLL_MS = 250;
const ANSWER_TIMEOUT_MS = 5_000;
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;

/** The release that is served first. */
export interface FirstRelease {
  readonly releaseId: string;
}

interface ReadyBody {
  readonly distributable?: boolean;
  readonly release_id?: string | null;
}

interface TaskItem {
  readonly kind: string;
  readonly status: string;
  readonly failure_code?: string | null;
  readonly failure_reason?: string | null;
  readonly progress?: Progress | null;
}

/**
 * Waits until the server is ready, and reports the progress of the daemon's sync until then.
 *
 * @param services base URLs, and the token that the daemon requires
 * @param onProgress called a few times a second while a sync runs
 * @throws Error when the sync failed and nothing is served; the message has the task's failure
 */
export async function waitForFirstRelease(
  services: { readonly server: string; readonly daemon: string; readonly daemonToken: string },
  dependencies: { readonly clock: Clock; readonly signal: AbortSignal },
  onProgress: (progress: Progress) => void,
): Promise<FirstRelease> {
  const { clock, signal } = dependencies;
  const client = createHttpClient({ connections: 1, keepAlive: false });
  /** @returns `null` while the service is not up or busy */
  const getJson = async <T>(url: string, token: string | null = null): Promise<T | null> => {
    try {
      const answer = await client.send({
        url,
        token,
        timeoutMs: ANSWER_TIMEOUT_MS,
        maxBytes: ANSWER_MAX_BYTES,
        signal,
      });
      return parseJsonAnswer(answer) as T;
    } catch (error) {
      if (error instanceof HttpFailure) return null;
      throw error;
    }
  };
  for (;;) {
    const ready = await getJson<ReadyBody>(`${services.server}/readyz`);
    if (ready?.distributable === true && typeof ready.release_id === 'string')
      return { releaseId: ready.release_id };
    const tasks = await getJson<{ items?: TaskItem[] }>(
      `${services.daemon}/v1/reports/task.list`,
      services.daemonToken,
    );
    const sync = tasks?.items?.find((task) => task.kind === 'sync');
    if (sync?.status === 'failed') {
      throw new Error(
        `the sync failed: ${sync.failure_code ?? ''}: ${sync.failure_reason ?? 'see the daemon log'}`,
      );
    }
    if (sync?.progress !== null && sync?.progress !== undefined) onProgress(sync.progress);
    await clock.sleep(POLL_MS, signal);
  }
}
