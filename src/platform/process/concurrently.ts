/**
 * Works on items with at most `concurrency` at a time, taking the next item only when there is room for it, so that a
 * stream of any length needs memory for `concurrency` items.
 *
 * @param work given the item and a signal that is also aborted when another item failed
 * @throws what the first failing item threw, after the work in progress has ended; or the signal's reason
 */
export async function forEachConcurrently<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  concurrency: number,
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const running = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | null = null;
  const start = (item: Item): void => {
    const one = work(item, either)
      .catch((error: unknown) => {
        failure ??= { error };
        failed.abort();
      })
      .finally(() => {
        running.delete(one);
      });
    running.add(one);
  };
  try {
    for await (const item of items) {
      if (either.aborted) break;
      start(item);
      if (running.size >= concurrency) await Promise.race(running);
    }
  } finally {
    await Promise.all(running);
  }
  rethrow(failure);
  signal.throwIfAborted();
}

/**
 * Waits until two running operations have ended. When one fails, it still waits for the other.
 *
 * @param onOtherFailure called with what `other` threw when both failed
 * @throws what `one` threw, or else what `other` threw
 */
export async function both<One, Other>(
  one: Promise<One>,
  other: Promise<Other>,
  onOtherFailure: (error: unknown) => void,
): Promise<[One, Other]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === 'rejected' && second.status === 'rejected') onOtherFailure(second.reason);
  return [await one, await other];
}

function rethrow(failure: { readonly error: unknown } | null): void {
  if (failure !== null) throw failure.error;
}

/**
 * Works on items with at most `ahead` begun at a time, and gives the results in the order of the items. Items after a slow one are worked on
 * meanwhile, and their results wait.
 *
 * @param work given the item and a signal that is also aborted when the iteration ends
 * @throws what the first failing item in the order threw, after the work in progress has ended; or the signal's reason
 */
export async function* mapInOrder<Item, Found>(
  items: Iterable<Item> | AsyncIterable<Item>,
  ahead: number,
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Found>,
): AsyncGenerator<Found, void> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const begun: Array<Promise<Found>> = [];
  const next = async (): Promise<Found> => {
    const found = await begun[0];
    void begun.shift();
    signal.throwIfAborted();
    return found as Found;
  };
  try {
    for await (const item of items) {
      const one = work(item, either);
      // It is looked at in its turn.
      void one.catch(() => undefined);
      begun.push(one);
      if (begun.length >= ahead) yield await next();
    }
    while (begun.length > 0) yield await next();
  } finally {
    ended.abort();
    await Promise.allSettled(begun);
  }
}
