import type { Clock } from '../../platform/process/clock.ts';
import type { Progress } from '../output/progress-line.ts';

const POLL_MS = 250;

/** What the first start of a release looks like from outside. */
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
 * Waits until the server says that it serves, and reports the progress of the daemon's sync meanwhile.
 *
 * @param onProgress called a few times a second while a sync runs
 * @throws Error when the sync failed and nothing is served; the message has the task's failure
 */
export async function waitForFirstRelease(
  urls: { readonly server: string; readonly daemon: string },
  dependencies: { readonly clock: Clock; readonly signal: AbortSignal },
  onProgress: (progress: Progress) => void,
): Promise<FirstRelease> {
  const { clock, signal } = dependencies;
  for (;;) {
    const ready = await getJson<ReadyBody>(`${urls.server}/readyz`, signal);
    if (ready?.distributable === true && typeof ready.release_id === 'string')
      return { releaseId: ready.release_id };
    const tasks = await getJson<{ items?: TaskItem[] }>(`${urls.daemon}/v1/reports/task.list`, signal);
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

async function getJson<T>(url: string, signal: AbortSignal): Promise<T | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]) });
    return (await response.json()) as T;
  } catch (error) {
    signal.throwIfAborted();
    // Not up yet or busy: the caller asks again.
    if (error instanceof Error) return null;
    throw error;
  }
}
