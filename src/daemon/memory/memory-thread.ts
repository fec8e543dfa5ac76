import { createThread, type Thread } from '../../platform/threads/thread.ts';
import type { MemoryCalls } from './memory-worker.ts';
import type { MemoryPaths } from './store/memory-files.ts';

/** The thread that owns the Translation Memory. */
export type MemoryThread = Thread<MemoryCalls>;

/** MiB. The pages of the files are outside of this heap; batches and answers are in it. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 128 };

/** Creates the thread. It starts with its first call; a search takes milliseconds, so it never runs on the event loop. */
export function createMemoryThread(paths: MemoryPaths): MemoryThread {
  return createThread<MemoryCalls>({
    purpose: 'owns the Translation Memory',
    module: new URL('./memory-worker.ts', import.meta.url),
    data: paths,
    limits: THREAD_LIMITS,
  });
}
