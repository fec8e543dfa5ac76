const LONG_MS = 2 ** 30;

/**
 * Runs work that may wait only for the timers of a `Clock`, which do not keep a process alive, and keeps it alive meanwhile.
 */
export async function keepAlive<T>(work: () => Promise<T>): Promise<T> {
  const alive = setInterval(() => undefined, LONG_MS);
  try {
    return await work();
  } finally {
    clearInterval(alive);
  }
}
