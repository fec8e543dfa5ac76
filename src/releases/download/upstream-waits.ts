import { instant } from '../../domain/instant.ts';
import type { NoteWait } from '../../mirror/attested-source.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { TaskContext } from '../../engine/tasks/task.ts';

/** Shortest wait that people hear of, milliseconds: they do not notice shorter ones. */
const NOTED_MS = 5_000;

/** The waits for upstream that tasks make. */
export interface UpstreamWaits {
  /** The last wait: until when (Unix milliseconds), and why; `null` once it is over. Its task may have ended before. */
  current(): { readonly until: number; readonly why: string } | null;
  /**
   * What notes the waits of a task, and writes them into its log. Many downloads wait for the same reason at the same time, so a
   * wait that begins during another one gets no line.
   */
  of(context: TaskContext): NoteWait;
}

export function createUpstreamWaits(clock: Clock): UpstreamWaits {
  let wait = { until: 0, why: '' };
  return {
    current: () => (wait.until > clock.now() ? wait : null),
    of: (context) => (why, ms) => {
      const startedAt = clock.now();
      if (ms < NOTED_MS || startedAt < wait.until) return;
      wait = { until: startedAt + ms, why };
      context.log('warn', `upstream is asked again at ${instant(wait.until / 1000)}: ${why}`, {
        wait_ms: ms,
      });
    },
  };
}
