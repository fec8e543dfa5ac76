import { createThread, type Thread } from '../../platform/threads/thread.ts';
import type { CopyCalls } from './copy-worker.ts';

/** MiB. The pages that SQLite copies are not part of it. */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };

/** Makes the thread that copies and checks databases. Close it after the work. */
export function createCopyThread(): Thread<CopyCalls> {
  return createThread<CopyCalls>({
    purpose: 'copies databases for a backup',
    module: new URL('./copy-worker.ts', import.meta.url),
    limits: HEAP_LIMITS,
    givesWay: true,
  });
}
