import type { Registry } from '../../platform/metrics/metrics.ts';
import type { Traffic } from './minute-ring.ts';

interface Sample {
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly value: number;
}

/**
 * Makes the function that reads the traffic since its last call from the metrics of this process, so that the history
 * and the metrics tell the same.
 *
 * @param isOfClients whether the requests of a route template come from clients, and not from the platform or operators
 */
export function createTrafficReader(
  registry: Registry,
  isOfClients: (route: string) => boolean,
): () => Promise<Traffic> {
  const samplesOf = async (name: string): Promise<readonly Sample[]> =>
    (await registry.getSingleMetric(name)?.get())?.values ?? [];
  let before: Traffic = { requests: 0, serverErrors: 0, sentBytes: 0 };
  return async () => {
    const requests = (await samplesOf('slipway_http_requests_total')).filter(({ labels: { route } }) =>
      isOfClients(String(route)),
    );
    const last = before;
    before = {
      requests: total(requests),
      serverErrors: total(requests.filter(({ labels: { status } }) => Number(status) >= 500)),
      sentBytes: total(await samplesOf('slipway_cdn_sent_bytes_total')),
    };
    return {
      requests: before.requests - last.requests,
      serverErrors: before.serverErrors - last.serverErrors,
      sentBytes: before.sentBytes - last.sentBytes,
    };
  };
}

function total(samples: readonly Sample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0);
}
