/** The threads of a simulation: each store works in this process. It takes the place of `src/platform/threads/thread.ts`. */
import * as real from '../../../src/platform/threads/thread.ts';
import { openInProcess } from '../crash-states/threads-in-process.ts';

export * from '../../../src/platform/threads/thread.ts';
export const openThread = openInProcess(real);
