import { flushCompileCache } from 'node:module';
import { parentPort, receiveMessageOnPort, workerData, type Transferable } from 'node:worker_threads';
import { lowerPriority } from './lower-priority.ts';
import { errorCode } from '../files/error-code.ts';
import type { CallContext, ThreadAnswer, ThreadRequest, ThreadStart } from './thread-protocol.ts';

// The entry of every thread: loads the module that it was started for and answers calls of its functions.

type Call = (argument: unknown, context: CallContext) => unknown;

interface ThreadModule {
  readonly createCalls: (data: unknown) => Readonly<Record<string, Call>>;
}

if (parentPort === null) throw new Error('this module runs in a worker thread only');
const port = parentPort;
const { module, data, givesWay } = workerData as ThreadStart;
if (givesWay) lowerPriority();
const { createCalls } = (await import(module)) as ThreadModule;
const calls = createCalls(data);
/** Cancels a running call, by its id. */
const running = new Map<number, () => void>();

function post(answer: ThreadAnswer, transfer: Transferable[] = []): void {
  port.postMessage(answer, transfer);
}

function receive(request: ThreadRequest): void {
  if (request.kind === 'cancel') running.get(request.id)?.();
  else void run(request);
}

function receiveWaiting(): void {
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    receive(next.message as ThreadRequest);
  }
}

async function run({ id, name, argument }: Extract<ThreadRequest, { kind: 'call' }>): Promise<void> {
  let isCancelled = false;
  // Created on first use: most calls are short and never read the signal.
  let controller: AbortController | null = null;
  const transferred: Transferable[] = [];
  running.set(id, () => {
    isCancelled = true;
    controller?.abort();
  });
  try {
    const call = calls[name];
    if (call === undefined) throw new Error(`${module} has no function "${name}"`);
    const result = call(argument, {
      get signal() {
        controller ??= new AbortController();
        if (isCancelled) controller.abort();
        return controller.signal;
      },
      isWanted: () => {
        receiveWaiting();
        return !isCancelled;
      },
      transfer: (...buffers) => {
        transferred.push(...buffers);
      },
    });
    // A call that arrives while another one blocks the thread is answered before that one ends.
    const value = result instanceof Promise ? ((await result) as unknown) : result;
    post({ kind: 'result', id, value }, transferred);
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    post({ kind: 'error', id, message, stack, code: errorCode(error) });
  } finally {
    running.delete(id);
  }
}

// A thread that is terminated does not save what it compiled.
flushCompileCache();
port.on('message', receive);
