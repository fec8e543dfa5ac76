import { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { renderQuery } from '../../contract/operations/query-parser.ts';
import type { ReportName } from '../../contract/reports/reports.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { DaemonPresence } from '../daemon-client/daemon-presence.ts';
import { REPORT_MAX_BYTES } from '../daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../daemon-client/daemon-unavailable.ts';
import { readJsonObject } from '../daemon-client/json-answer.ts';
import { jsonHeaders, NO_STORE } from '../http/answer.ts';
import { goneSignal, type Exchange } from '../http/exchange.ts';
import { sendAnswer } from '../http/send-answer.ts';
import type { AdminMetrics, ForwardOutcome } from './admin-metrics.ts';
import { backendUnavailable, reportBodyOf } from './daemon-answers.ts';
import type { DaemonProxy } from './daemon-proxy.ts';
import type { AddServerChecks } from './server-checks.ts';

const RESPONSE_LISTENERS = 20;
/** Longest `Via` field of a client to which this server appends; a longer one is dropped. */
const MAX_VIA_LENGTH = 512;

export interface ReportParts {
  readonly proxy: DaemonProxy;
  readonly presence: DaemonPresence;
  readonly addServerChecks: AddServerChecks;
  readonly metrics: AdminMetrics;
  readonly clock: Clock;
  /** Milliseconds without a byte of a report after which it is given up. */
  readonly stallTimeoutMs: number;
}

interface ReportRead {
  readonly report: ReportName;
  readonly query: Readonly<Record<string, unknown>>;
  /** The daemon logs it. */
  readonly requestId: string;
}

/**
 * Answers a read with a report of the daemon. A long report is sent on as it arrives; a shorter one is checked first.
 *
 * @throws ServiceError; an AbortError when the client disconnects
 */
export async function forwardReport(
  { proxy, presence, addServerChecks, metrics, clock, stallTimeoutMs }: ReportParts,
  { report, query, requestId }: ReportRead,
  exchange: Exchange,
): Promise<void> {
  const { request, response } = exchange;
  const begun = clock.monotonic();
  const note = (outcome: ForwardOutcome): void => {
    metrics.forwarded(report, outcome, (clock.monotonic() - begun) / 1000);
  };
  const gone = goneSignal(response);
  const isDoctor = report === 'daemon.doctor';
  const search = renderQuery(query).toString();
  const sent = {
    path: `/v1/reports/${report}${search === '' ? '' : `?${search}`}`,
    headers: { 'x-request-id': requestId, via: viaOf(request) },
  };
  try {
    const answer = await presence.observe(async () => {
      const received = await proxy.read(exchange, sent, { gone, mayStream: !isDoctor });
      if (!(received instanceof IncomingMessage) && received.status === 200) readJsonObject(received);
      return received;
    });
    if (answer instanceof IncomingMessage) {
      await passOn(answer, exchange, stallTimeoutMs);
      note('ok');
      return;
    }
    const reported = reportBodyOf(report, answer);
    const body = isDoctor ? await addServerChecks(reported) : reported;
    note('ok');
    await sendAnswer(request, response, { status: 200, headers: jsonHeaders(NO_STORE), body: [body] });
  } catch (error) {
    if (gone.aborted && !(error instanceof DaemonUnavailable)) throw gone.reason;
    const failure =
      error instanceof ServiceError ? error : backendUnavailable(report, error, presence.state());
    note(failure.code === 'backend_unavailable' ? 'unavailable' : 'refused');
    throw failure;
  }
}

/**
 * Sends a report on as it arrives. The response is cut when the report is, or when the daemon sends nothing for too long. A slow
 * client does not keep the connection to the daemon: what it has not taken yet waits in memory, at most one report.
 */
async function passOn(
  answer: IncomingMessage,
  { request, response }: Exchange,
  stallTimeoutMs: number,
): Promise<void> {
  response.writeHead(200, {
    ...jsonHeaders(NO_STORE),
    'content-length': answer.headers['content-length'],
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  let isCut = false;
  const stalled = setTimeout(() => answer.destroy(), stallTimeoutMs);
  answer.on('data', () => stalled.refresh());
  // The response is cut after this event, or was closed before it.
  answer.once('aborted', () => {
    isCut = !response.destroyed;
  });
  answer.once('end', () => clearTimeout(stalled));
  // The proxy and the stream below also listen for the end of the response.
  response.setMaxListeners(RESPONSE_LISTENERS);
  try {
    await pipeline(answer, new PassThrough({ highWaterMark: REPORT_MAX_BYTES }), response);
  } catch (cause) {
    throw isCut ? new DaemonUnavailable('unreachable', 'the daemon cut the report off', { cause }) : cause;
  } finally {
    clearTimeout(stalled);
  }
}

/** Source: RFC 9110, section 7.6.3. */
function viaOf({ httpVersion, headers: { via } }: IncomingMessage): string {
  const own = `${httpVersion} slipway`;
  return via === undefined || via.length > MAX_VIA_LENGTH ? own : `${via}, ${own}`;
}
