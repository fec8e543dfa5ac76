import { getPriority } from 'node:os';
import type { CallContext } from '../../src/platform/threads/serve.ts';

/** What the worker thread of the thread tests serves. */
export interface TestStore {
  /** Returns a text with the data of the thread. */
  greet(name: string): string;
  /** The priority of the thread: greater numbers give way to smaller ones. */
  priority(): number;
  fail(code: string): never;
  /** Returns its bytes. */
  echo(bytes: Uint8Array<ArrayBuffer>, context: CallContext): Uint8Array<ArrayBuffer>;
  /** Settles when it is cancelled. */
  wait(_: null, context: CallContext): Promise<never>;
  /** Blocks the thread until it is cancelled, then counts how often it checked. */
  spin(_: null, context: CallContext): never;
  crash(): Promise<never>;
  exit(code: number): Promise<never>;
  overflow(): number;
  unclonable(): () => void;
}

export function createStore(greeting: string): TestStore {
  return {
    greet: (name) => `${greeting} ${name}`,
    priority: () => getPriority(),
    fail: (code) => {
      throw Object.assign(new Error('it failed'), { code });
    },
    echo: (bytes, { transfer }) => {
      transfer(bytes.buffer);
      return bytes;
    },
    wait: async (_, { signal }) =>
      await new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('cancelled in the thread'));
        });
      }),
    spin: (_, { isWanted }) => {
      while (isWanted());
      throw new Error('cancelled in the thread');
    },
    crash: async () => {
      queueMicrotask(() => {
        throw new Error('a bug');
      });
      return await new Promise<never>(() => undefined);
    },
    exit: async (code) => {
      process.exit(code);
    },
    overflow: () => {
      const kept: unknown[] = [];
      for (;;) kept.push({ at: kept.length });
    },
    unclonable: () => () => undefined,
  };
}
