import type { ReportName } from '../../../contract/reports/reports.ts';
import { readTokenFile } from '../../../platform/files/token-file.ts';
import type { CallContext } from '../../../platform/threads/thread-protocol.ts';
import { DaemonUnavailable, type DaemonFailureCode } from '../../daemon-client/daemon-unavailable.ts';
import { createReportForwarder } from './report-forwarder.ts';

/** Settings of the thread that forwards reports. */
export interface ReportThreadOptions {
  /** Origin of the daemon. */
  readonly url: string;
  /** Unix socket to use instead of the URL's host. */
  readonly socketPath: string | undefined;
  /** File with the token that the daemon requires. */
  readonly tokenFile: string | undefined;
  /** Total milliseconds for an answer. */
  readonly timeoutMs: number;
}

/** One read for the daemon. */
export interface ReportJob {
  readonly report: ReportName;
  /** Validated parameters, encoded. */
  readonly query: string;
  readonly requestId: string;
  readonly via: string;
  readonly trace: Readonly<Record<string, string>>;
}

/** The result of a {@link ReportJob}; an unusable daemon is a result, not an error. */
export type ReportOutcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly contentType: string;
      readonly etag: string | null;
      readonly body: Uint8Array<ArrayBuffer>;
    }
  | {
      readonly kind: 'unavailable';
      readonly code: DaemonFailureCode;
      readonly message: string;
      readonly status: number | null;
      readonly daemonCode: string | null;
    };

/** The function of the thread that forwards reports. */
export interface ReportCalls {
  forward(job: ReportJob, context: CallContext): Promise<ReportOutcome>;
}

/** Makes the function that the thread runs. */
export function createCalls({ tokenFile, ...daemon }: ReportThreadOptions): ReportCalls {
  const forwarder = createReportForwarder({
    ...daemon,
    readToken: async () => (tokenFile === undefined ? null : await readTokenFile(tokenFile)),
  });
  return {
    forward: async ({ query, ...job }, { signal, transfer }) => {
      try {
        const read = { ...job, query: new URLSearchParams(query), signal };
        const { body: received, ...answer } = await forwarder.forward(read);
        // The received bytes may be part of a larger buffer, which cannot be transferred.
        const body = new Uint8Array(received);
        transfer(body.buffer);
        return { kind: 'answer', ...answer, body };
      } catch (error) {
        if (!(error instanceof DaemonUnavailable)) throw error;
        const { code, message, status, daemonCode } = error;
        return { kind: 'unavailable', code, message, status, daemonCode };
      }
    },
  };
}
