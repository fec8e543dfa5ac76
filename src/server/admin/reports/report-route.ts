import { traceHeaders } from '../../../platform/logging/trace.ts';
import { renderQuery } from '../../../contract/operations/query-parser.ts';
import type { ReportName } from '../../../contract/reports/reports.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { jsonHeaders, NO_STORE, type Answer } from '../../http/answer.ts';
import type { AdminMetrics } from '../admin-metrics.ts';
import { backendUnavailable, reportBodyOf } from '../daemon-answers.ts';
import type { DaemonPresence } from '../../daemon-client/daemon-presence.ts';
import type { ReportForwarder } from './report-forwarder.ts';
import type { AddServerChecks } from './server-checks.ts';
import { shareReads } from './shared-reads.ts';

/** Longest `Via` field of a client to which this server appends; a longer one is dropped. */
const MAX_VIA_LENGTH = 512;

export interface ReportRouteOptions {
  readonly forwarder: ReportForwarder;
  readonly presence: DaemonPresence;
  readonly addServerChecks: AddServerChecks;
  readonly metrics: Pick<AdminMetrics, 'forwarded'>;
  readonly clock: Clock;
}

/** One admitted and parsed read. */
export interface ReportRead {
  /** `Via` field of the request. */
  readonly via: string | undefined;
  /** Such as `1.1`. */
  readonly httpVersion: string;
  readonly report: ReportName;
  /** Result of `parseQuery`. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** Makes the function that answers admin reads with reports of the daemon; it throws ServiceError. */
export function createReportRoute({
  forwarder,
  presence,
  addServerChecks,
  metrics,
  clock,
}: ReportRouteOptions): (read: ReportRead) => Promise<Answer> {
  const forward = shareReads(forwarder);

  return async ({ via, httpVersion, report, query, requestId, signal }) => {
    const begun = clock.monotonic();
    const seconds = (): number => (clock.monotonic() - begun) / 1000;
    try {
      const read = {
        report,
        query: renderQuery(query),
        requestId,
        via: viaOf(httpVersion, via),
        trace: traceHeaders(),
        signal,
      };
      const answer = await presence.observe(async () => await forward(read));
      const reported = reportBodyOf(report, answer);
      const body = report === 'daemon.doctor' ? await addServerChecks(reported) : reported;
      metrics.forwarded(report, 'ok', seconds());
      return { status: 200, headers: jsonHeaders(NO_STORE), body: [body] };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure =
        error instanceof ServiceError ? error : backendUnavailable(report, error, presence.state());
      const isUnavailable = failure.code === 'backend_unavailable';
      metrics.forwarded(report, isUnavailable ? 'unavailable' : 'refused', seconds());
      throw failure;
    }
  };
}

/** Source: RFC 9110, section 7.6.3. */
function viaOf(httpVersion: string, received: string | undefined): string {
  const own = `${httpVersion} slipway`;
  return received === undefined || received.length > MAX_VIA_LENGTH ? own : `${received}, ${own}`;
}
