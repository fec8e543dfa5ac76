/**
 * Keeps the threads of the unit tests that hold nothing between two calls: those that hash files, and those that load a manifest.
 * To start one takes more processor time than most tests. `test/unit/platform/threads-and-processes.test.ts` starts real ones each
 * time, and so do the programs of the other tiers.
 */
import { vi } from 'vitest';
import { callerBy, type CallOptions } from '../../src/platform/threads/caller.ts';
import type * as threads from '../../src/platform/threads/thread.ts';

type OpenThread = (typeof threads)['openThread'];
type Call = (argument: unknown, given?: CallOptions) => Promise<unknown>;

/** The modules of these threads. */
const STATELESS = ['/src/platform/hashing/hash-worker.ts', '/src/snapshot/manifest/manifest-worker.ts'];

vi.mock('../../src/platform/threads/thread.ts', async (original) => {
  const real = await original<typeof threads>();
  return { ...real, openThread: reusing(real.openThread) };
});

function reusing(open: OpenThread): OpenThread {
  const idle = new Map<string, threads.Thread<object>[]>();
  return <Store extends object>(options: Parameters<OpenThread>[0]) => {
    const { href } = options.module;
    if (!STATELESS.some((path) => href.endsWith(path))) return open<Store>(options);
    const kept = idle.get(href) ?? [];
    idle.set(href, kept);
    let thread: threads.Thread<object> | null = null;
    let pending = 0;
    let isClosed = false;
    const call = async (name: string, argument: unknown, given?: CallOptions): Promise<unknown> => {
      given?.signal?.throwIfAborted();
      if (isClosed) {
        // It refuses the call.
        thread = open(options);
        await thread.close();
      }
      thread ??= kept.pop() ?? open(options);
      pending += 1;
      try {
        const calls = thread.calls as Readonly<Record<string, Call>>;
        const answer = await calls[name]?.(argument, given);
        // A thread that has to start first answers no call that is cancelled at once.
        given?.signal?.throwIfAborted();
        return answer;
      } finally {
        pending -= 1;
      }
    };
    return {
      calls: callerBy<Store>(async (name, argument, given) => await call(name, argument, given)),
      close: async () => {
        const used = isClosed ? null : thread;
        isClosed = true;
        if (used === null) return;
        // What closes a thread at work ends it.
        if (pending > 0) await used.close();
        else kept.push(used);
      },
    };
  };
}
