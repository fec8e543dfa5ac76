import { Counter, Histogram, type Registry } from 'prom-client';

import { REPORTS, type ReportName } from '../../contract/reports/reports.ts';

const FORWARD_OUTCOMES = ['ok', 'refused', 'unavailable'] as const;

/** Outcome of a call to the daemon. */
export type ForwardOutcome = (typeof FORWARD_OUTCOMES)[number];

const FORWARDED = [...(Object.keys(REPORTS) as ReportName[]), 'control'] as const;

const LOGIN_FAILURES = ['unconfigured', 'missing', 'refused', 'limited'] as const;

type LoginFailure = (typeof LOGIN_FAILURES)[number];

/** Counters of the admin surface. */
export interface AdminMetrics {
  /** @param call a report, or `control` for every action */
  forwarded(call: (typeof FORWARDED)[number], outcome: ForwardOutcome, seconds: number): void;
  loginFailed(why: LoginFailure): void;
}

/** Registers the metrics of the admin surface; every label has a fixed set of values. */
export function createAdminMetrics(registry: Registry): AdminMetrics {
  const registers = [registry];
  const latency = new Histogram({
    name: 'slipway_admin_forward_duration_seconds',
    help: 'Duration of the answers of the daemon to admin reads and control actions, by report and outcome.',
    labelNames: ['report', 'outcome'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10],
    registers,
  });
  const failures = new Counter({
    name: 'slipway_admin_auth_failures_total',
    help: 'Rejected admin requests, by reason.',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of LOGIN_FAILURES) failures.inc({ reason }, 0);
  for (const report of FORWARDED) {
    for (const outcome of FORWARD_OUTCOMES) latency.zero({ report, outcome });
  }
  return {
    forwarded: (report, outcome, seconds) => {
      latency.observe({ report, outcome }, seconds);
    },
    loginFailed: (reason) => {
      failures.inc({ reason });
    },
  };
}
