import { createHttpClient, HttpFailure, parseJsonAnswer } from '../src/platform/http/http-client.ts';
import type { Clock } from '../src/platform/process/clock.ts';
import type { Progress } from '../src/cli/output/progress-line.ts';

const POLL_MS = 250;
const ANSWER_TIMEOUT_MS = 5_000;
const ANSWER_MAX_BYTES = 8 * 1024 * 1024;

/** The release that is served. */
export interface ServedRelease {
  readonly releaseId: string;
}

interface ReadyBody {
  readonly distributable?: boolean;
  readonly release_id?: string | null;
}

/** The events before the release is served. */
interface ReleaseEvents {
  /** Called a few times a second while a sync runs. */
  onProgress(progress: Progress): void;
  /** Called once for every sync that failed, with its code and reason. */
  onFailure(failure: string): void;
}

interface TaskItem {
  readonly task_id: string;
  readonly kind: string;
  readonly status: string;
  readonly failure_code?: string | null;
  readonly failure_reason?: string | null;
  readonly progress?: Progress | null;
}

/**
 * Waits until the server is ready, however many syncs fail before, and reports what the daemon's sync does until then.
 *
 * @param server `releaseId` is the release to wait for; without it, any
 * @throws the signal's reason
 */
export async function waitForRelease(
  server: { readonly serverUrl: string; readonly adminToken: string; readonly releaseId?: string },
  dependencies: { readonly clock: Clock; readonly signal: AbortSignal },
  events: ReleaseEvents = { onProgress: () => undefined, onFailure: () => undefined },
): Promise<ServedRelease> {
  const { clock, signal } = dependencies;
  const client = createHttpClient({ connections: 1, keepAlive: false });
  /** @returns `null` while the service is not up or busy */
  const getJson = async <T>(path: string): Promise<T | null> => {
    try {
      const answer = await client.send({
        url: `${server.serverUrl}${path}`,
        token: server.adminToken,
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
  let reported: string | null = null;
  for (;;) {
    const ready = await getJson<ReadyBody>('/readyz');
    if (ready?.distributable === true && typeof ready.release_id === 'string') {
      const { release_id: releaseId } = ready;
      if (releaseId === (server.releaseId ?? releaseId)) return { releaseId };
    }
    const tasks = await getJson<{ items?: TaskItem[] }>('/admin/tasks');
    const sync = tasks?.items?.find((task) => task.kind === 'sync');
    if (sync?.status === 'failed') {
      if (sync.task_id !== reported) {
        events.onFailure(`${sync.failure_code ?? 'failed'}: ${sync.failure_reason ?? 'see the daemon log'}`);
      }
      reported = sync.task_id;
    } else if (sync?.progress !== null && sync?.progress !== undefined) events.onProgress(sync.progress);
    await clock.sleep(POLL_MS, signal);
  }
}
