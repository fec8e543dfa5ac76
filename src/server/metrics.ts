import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

import { listOperations } from '../contract/operations/operations.ts';
import { CHANNELS } from '../domain/release/channel.ts';
import { REASONS } from '../domain/verdict/reasons.ts';
import type { Verdict } from '../domain/verdict/verdict.ts';
import { createTallyCounter, type CounterSeries } from '../platform/metrics/tally.ts';
import { statusesOf } from './http/declared-statuses.ts';
import type { RequestRecord } from './http/observe-request.ts';
import { REFRESH_OUTCOMES, type RefreshOutcome } from './serving/attestation-poller.ts';
import type { Serving } from './serving/serving.ts';

/** Methods with a separate label; any other is `other`, so that clients cannot create series. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'POST']);

interface RouteTally {
  /** By method, then by status. */
  readonly requests: Map<string, Map<number | null, CounterSeries>>;
  readonly duration: { readonly observe: (seconds: number) => void };
  readonly bytes: CounterSeries;
}

interface ServerMetrics {
  request(record: RequestRecord): void;
  verdict(verdict: Verdict): void;
  refresh(outcome: RefreshOutcome): void;
  /** Reads gauges from the serving state whenever the metrics are collected. */
  observe(serving: Serving, now: () => number): void;
}

/** Registers the server's metrics; every label has a fixed set of values. */
export function createServerMetrics(registry: Registry): ServerMetrics {
  const registers = [registry];
  const countRequest = createRequestCounters(registry);
  const verdicts = new Gauge({
    name: 'slipway_verdict',
    help: '1 for the current reason of each channel, 0 for all others; the reason of a distributable channel is "none".',
    labelNames: ['channel', 'reason'],
    aggregator: 'max',
    registers,
  });
  const refreshes = new Counter({
    name: 'slipway_refresh_total',
    help: 'Polls of the daemon for an attestation, by outcome.',
    labelNames: ['outcome'],
    registers,
  });

  for (const outcome of REFRESH_OUTCOMES) refreshes.inc({ outcome }, 0);

  return {
    request: countRequest,
    verdict: (verdict) => {
      setVerdict(verdicts, verdict);
    },
    refresh: (outcome) => {
      refreshes.inc({ outcome });
    },
    observe: (serving, now) => {
      registerServingGauges(registry, serving, now);
    },
  };
}

/** Registers the counters of requests; the result counts one. Each status that an operation declares has a sample from the start. */
function createRequestCounters(registry: Registry): (record: RequestRecord) => void {
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
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
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
  // increase() does not count the first sample of a series.
  for (const { method, path, answers } of listOperations()) {
    for (const status of statusesOf(answers)) requestsOf(tallyOf(path), path, method.toUpperCase(), status);
  }
  return ({ route, method, status, bytes: sent, seconds }) => {
    const tally = tallyOf(route);
    requestsOf(tally, route, method, status).add(1);
    tally.duration.observe(seconds);
    tally.bytes.add(sent);
  };
}

const VERDICT_REASONS = ['none', ...Object.keys(REASONS)];

/** Every reason has a sample from the first verdict on, so that a change is seen. */
function setVerdict(gauge: Gauge<'channel' | 'reason'>, { channel, reason }: Verdict): void {
  for (const each of VERDICT_REASONS)
    gauge.set({ channel, reason: each }, each === (reason ?? 'none') ? 1 : 0);
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
      if (attestation === null) expires.remove();
      else expires.set(attestation.expires_at - now() / 1000);
    },
  });
  const expiresAt = new Gauge({
    name: 'slipway_attestation_expires_timestamp_seconds',
    help: 'When the attestation of the official channel expires; absent without one.',
    aggregator: 'min',
    registers,
    collect: () => {
      const attestation = serving.verdict('official').attestation;
      if (attestation === null) expiresAt.remove();
      else expiresAt.set(attestation.expires_at);
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
