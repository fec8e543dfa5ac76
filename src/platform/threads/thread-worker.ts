import { flushCompileCache } from 'node:module';
import { constants, getPriority, setPriority } from 'node:os';
import process from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { serve, type ThreadStart } from './serve.ts';

// The entry of every thread: serves the store of the module that it was started for.

if (parentPort === null) throw new Error('this module runs in a worker thread only');
const { module, data, givesWay } = workerData as ThreadStart;
if (givesWay) lowerPriority();
const { createStore } = (await import(module)) as { readonly createStore: (data: unknown) => object };
const store = createStore(data);
// A thread that is terminated does not save what it compiled.
flushCompileCache();
serve(parentPort, store);

/**
 * While all processors are busy, the calling thread then gets about a tenth of the time of a thread that answers requests, and as
 * much as it wants otherwise.
 *
 * Source: setpriority(2), "C library/kernel differences"; sched(7), "The nice value".
 */
function lowerPriority(): void {
  // Elsewhere a thread has no priority of its own.
  if (process.platform !== 'linux') return;
  try {
    const { PRIORITY_BELOW_NORMAL: lower, PRIORITY_LOW: lowest } = constants.priority;
    setPriority(Math.min(getPriority() + lower, lowest));
  } catch {
    // The system does not allow it. The work then competes with serving for processor time.
  }
}
