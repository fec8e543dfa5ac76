import { requestHead, startSocketsLoad } from './bytes/load.ts';
import type { Placement } from './bytes/placement.ts';
import type { SlipwayServer } from './bytes/slipway-site.ts';

const WINDOW_SECONDS = 2;
const CONNECTIONS = 16;
/** Requests of a window. */
export const REQUESTS_PER_SECOND = 1000;

/** Creates the measurement of the latency of a small file. @returns the 99th percentile of one window, in milliseconds */
export async function createWindowP99(
  server: SlipwayServer,
  placement: Placement,
  file: string,
): Promise<() => Promise<number>> {
  const bodyBytes = (await (await fetch(server.url(file))).bytes()).length;
  return async () => await windowP99(server, placement, file, bodyBytes);
}

async function windowP99(
  server: SlipwayServer,
  placement: Placement,
  file: string,
  bodyBytes: number,
): Promise<number> {
  const load = startSocketsLoad(
    {
      port: server.port,
      connections: CONNECTIONS,
      seconds: WINDOW_SECONDS,
      heads: [requestHead('GET', server.url(file))],
      status: 200,
      bodyBytes,
      requestsPerSecond: REQUESTS_PER_SECOND,
    },
    placement.client('one'),
  );
  const { p99Milliseconds } = await load.result;
  if (p99Milliseconds === undefined) throw new Error('no answer came within the window');
  return p99Milliseconds;
}
