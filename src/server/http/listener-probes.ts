import { PUBLIC_OPERATIONS } from '../../contract/operations/operations-public.ts';
import { messageOf } from '../../platform/errors.ts';
import { createListenerCheck } from '../../platform/http/listener-check.ts';
import type { SideAnswer } from '../../platform/http/side-server.ts';

/** Milliseconds for an answer of the public port; shorter than the time that a liveness probe waits. */
const DEADLINE_MS = 4_000;
const REUSE_MS = 500;

/**
 * Makes the probes of the metrics port, by path. Each sends the same request to the public port over loopback and passes
 * its answer on, so a success proves that the public port accepts connections and that a worker answers. Clients of the
 * public port cannot make them fail by using up its connections.
 *
 * @param url base URL of the public port; `null` while it does not listen
 */
export function createListenerProbes(
  url: () => string | null,
  isShuttingDown: () => boolean,
): Readonly<Record<string, () => Promise<SideAnswer>>> {
  const check = createListenerCheck({ url, deadlineMs: DEADLINE_MS, reuseMs: REUSE_MS });
  const { getHealth, getReadiness } = PUBLIC_OPERATIONS;

  const probe = async (path: string): Promise<SideAnswer> => {
    try {
      return await check(path);
    } catch (error) {
      // A server that closes its public port on purpose is alive, and not ready.
      const isAlive = isShuttingDown() && path === getHealth.path;
      const body = `${isShuttingDown() ? 'The server is shutting down' : messageOf(error)}.\n`;
      return { status: isAlive ? 200 : 503, contentType: 'text/plain; charset=utf-8', body };
    }
  };
  return Object.fromEntries([getHealth.path, getReadiness.path].map((path) => [path, () => probe(path)]));
}
