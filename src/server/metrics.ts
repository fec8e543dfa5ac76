import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

import { CHANNELS, type Channel } from '../domain/release/channel.ts';
import type { Verdict } from '../domain/verdict/verdict.ts';
import { createTallyCounter, type CounterSeries } from '../platform/metrics/tally.ts';
import type { RequestRecord } from './http/observe-request.ts';
import type { RefreshOutcome } from './serving/attestation-poller.ts';
import type { Serving } from './serving/serving.ts';

/** Methods with a separate label; any other is `other`, so that clients cannot create series. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'POST']);

/** The series of one route. */
interface RouteTally {
  /** By method, then by status. */
  readonly requests: Map<string, Map<number | null, CounterSeries>>;
  readonly duration: { readonly observe: (seconds: number) => void };
  readonly bytes: CounterSeries;
}

/** The metrics of the server. */
export interface ServerMetrics {
  request(record: RequestRecord): void;
  verdict(verdict: Verdict): void;
  refresh(outcome: RefreshOutcome): void;
  /** Reads gauges from the serving state whenever the metrics are collected. */
  observe(serving: Serving, now: () => number): void;
}

/** Registers the server's metrics; every label has a fixed set of values. */
export function createServerMetrics(registry: Registry): ServerMetrics {
  const registers = [registry];
  const requests = createTallyCounter({
    name: 'slipway_http_requests_total',
    help: 'Requests by route template, method and status; "none" if the client left before any response.',
    labelNames: ['route', 'method', 'status'],
    registry,
  });
  const duration = new Histogram({
    name: 'slipway_http_request_duration_seconds',
    help: 'Duration from the request head to the end of the response, by route template.',
    labelNames: ['route'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
    registers,
  });
  const bytes = createTallyCounter({
    name: 'slipway_http_response_bytes_total',
    help: 'Bytes sent, including heads, by route template.',
    labelNames: ['route'],
    registry,
  });
  const routes = new Map<string, RouteTally>();
  const tallyOf = (route: string): RouteTally => {
    const known = routes.get(route);
    if (known !== undefined) return known;
    const tally = {
      requests: new Map<string, Map<number | null, CounterSeries>>(),
      duration: duration.labels({ route }),
      bytes: bytes({ route }),
    };
    routes.set(route, tally);
    return tally;
  };
  const requestsOf = (
    { requests: methods }: RouteTally,
    route: string,
    received: string,
    status: number | null,
  ) => {
    const method = METHODS.has(received) ? received : 'other';
    let statuses = methods.get(method);
    if (statuses === undefined) methods.set(method, (statuses = new Map<number | null, CounterSeries>()));
    let series = statuses.get(status);
    if (series === undefined)
      statuses.set(status, (series = requests({ route, method, status: status ?? 'none' })));
    return series;
  };
  const verdicts = new Gauge({
    name: 'slipway_verdict',
    help: '1 for the current reason of each channel; the reason of a distributable channel is "none".',
    labelNames: ['channel', 'reason'],
    aggregator: 'max',
    registers,
  });
  const reasons = new Map<Channel, string>();
  const refreshes = new Counter({
    name: 'slipway_refresh_total',
    help: 'Polls of the daemon for an attestation, by outcome.',
    labelNames: ['outcome'],
    registers,
  });

  return {
    request: ({ route, method, status, bytes: sent, seconds }) => {
      const tally = tallyOf(route);
      requestsOf(tally, route, method, status).add(1);
      tally.duration.observe(seconds);
      tally.bytes.add(sent);
    },
    verdict: (verdict) => {
      setVerdict(verdicts, reasons, verdict);
    },
    refresh: (outcome) => {
      refreshes.inc({ outcome });
    },
    observe: (serving, now) => {
      registerServingGauges(registry, serving, now);
    },
  };
}

function setVerdict(
  gauge: Gauge<'channel' | 'reason'>,
  reasons: Map<Channel, string>,
  { channel, reason }: Verdict,
): void {
  const previous = reasons.get(channel);
  const label = reason ?? 'none';
  if (previous !== undefined && previous !== label) gauge.remove({ channel, reason: previous });
  reasons.set(channel, label);
  gauge.set({ channel, reason: label }, 1);
}

function registerServingGauges(registry: Registry, serving: Serving, now: () => number): void {
  const registers = [registry];
  const expires = new Gauge({
    name: 'slipway_attestation_expires_in_seconds',
    help: 'Seconds until the attestation of the official channel expires; absent without one.',
    aggregator: 'min',
    registers,
    collect: () => {
      const attestation = serving.verdict('official').attestation;
      if (attestation === null) expires.reset();
      else expires.set(attestation.expires_at - now() / 1000);
    },
  });
  const entries = new Gauge({
    name: 'slipway_manifest_entries',
    help: 'Entries of the current release of each channel.',
    labelNames: ['channel'],
    aggregator: 'max',
    registers,
    collect: () => {
      const { current } = serving.state();
      for (const channel of CHANNELS) entries.set({ channel }, current[channel]?.index.length ?? 0);
    },
  });
  const memory = new Gauge({
    name: 'slipway_manifest_memory_bytes',
    help: 'Memory of all loaded manifests that are served.',
    registers,
    collect: () => {
      const indexes = new Set([...serving.state().byReleaseId.values()].map(({ index }) => index));
      memory.set([...indexes].reduce((sum, { memoryBytes }) => sum + memoryBytes, 0));
    },
  });
}
