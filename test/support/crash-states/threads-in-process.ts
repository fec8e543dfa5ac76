import type * as threads from '../../../src/platform/threads/thread.ts';

type Threads = typeof threads;

/** Opens each thread in this one, so that what it does to files is recorded, and a start takes no time. */
export function openInProcess(real: Threads): Threads['openThread'] {
  return <Store extends object>({ module, data }: Parameters<Threads['openThread']>[0]) => {
    // In an object, because a promise takes a store whose methods are found by their name for another promise.
    const opening = import(module.href).then(
      (loaded: { readonly createStore: (data: unknown) => object }) => ({ store: loaded.createStore(data) }),
    );
    // Each method of the store is one of the thread, which waits until the module is loaded.
    const waiting = new Proxy(
      {},
      {
        get:
          (_, name: string) =>
          async (...given: unknown[]) => {
            const { store } = await opening;
            return await (Reflect.get(store, name) as (...all: unknown[]) => unknown).apply(store, given);
          },
      },
    );
    return real.threadInProcess(waiting) as unknown as threads.Thread<Store>;
  };
}
