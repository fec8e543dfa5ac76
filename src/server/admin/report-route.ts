import type { IncomingMessage } from 'node:http';

import { renderQuery } from '../../contract/query-parser.ts';
import type { ReportName } from '../../contract/reports.ts';
import { ServiceError } from '../../contract/service-error.ts';
import type { Clock } from '../../platform/clock.ts';
import { jsonHeaders, NO_STORE, type Answer } from '../http/answer.ts';
import type { BoundedAnswer } from '../daemon-client/bounded-answer.ts';
import type { AdminMetrics } from './admin-metrics.ts';
import { backendUnavailable, reportBodyOf } from './daemon-answers.ts';
import type { ReportForwarder } from './report-forwarder.ts';
import { shareReads } from './shared-reads.ts';

/** Longest `Via` header of a client that is added to; a longer one is dropped. */
const MAX_VIA_LENGTH = 512;

/** Largest body that is remembered, and so the memory that a report can take. */
const MAX_REMEMBERED_BYTES = 256 * 1024;

/** What {@link createReportRoute} needs. */
export interface ReportRouteOptions {
  readonly forwarder: ReportForwarder;
  readonly metrics: Pick<AdminMetrics, 'forwarded'>;
  readonly clock: Clock;
}

/** One admitted and parsed read. */
export interface ReportRead {
  readonly request: IncomingMessage;
  readonly report: ReportName;
  /** What `parseQuery` gave. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** Makes the function that answers admin reads with reports of the daemon; it throws ServiceError. */
export function createReportRoute({
  forwarder,
  metrics,
  clock,
}: ReportRouteOptions): (read: ReportRead) => Promise<Answer> {
  // Checking a report costs more than all the rest. Where many ask often the daemon's answers repeat, and bytes that were
  // found good are good.
  const lastGood = new Map<ReportName, BoundedAnswer>();
  const forward = shareReads(async (read) => await forwarder.forward(read));

  return async ({ request, report, query, requestId, signal }) => {
    const begun = clock.monotonic();
    const seconds = (): number => (clock.monotonic() - begun) / 1000;
    try {
      const answer = await forward({
        report,
        query: renderQuery(query),
        requestId,
        via: viaOf(request),
        signal,
      });
      const isKnown = isSameAnswer(lastGood.get(report), answer);
      const body = isKnown ? answer.body : reportBodyOf(report, answer);
      if (!isKnown && body.length <= MAX_REMEMBERED_BYTES) lastGood.set(report, answer);
      metrics.forwarded(report, 'ok', seconds());
      return { status: 200, headers: jsonHeaders(NO_STORE), body: [body] };
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = error instanceof ServiceError ? error : backendUnavailable(report, error);
      const isUnavailable = failure.code === 'backend_unavailable';
      metrics.forwarded(report, isUnavailable ? 'unavailable' : 'refused', seconds());
      throw failure;
    }
  };
}

function isSameAnswer(
  known: BoundedAnswer | undefined,
  { status, contentType, body }: BoundedAnswer,
): boolean {
  return known?.status === status && known.contentType === contentType && known.body.equals(body);
}

/** Source: RFC 9110, section 7.6.3. */
function viaOf({ httpVersion, headers }: IncomingMessage): string {
  const own = `${httpVersion} slipway`;
  const received = headers.via;
  return received === undefined || received.length > MAX_VIA_LENGTH ? own : `${received}, ${own}`;
}
