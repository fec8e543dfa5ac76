import type { ReportName } from '../../../contract/reports/reports.ts';
import type { DaemonFailureCode } from '../../daemon-client/daemon-unavailable.ts';

/** What the thread that forwards reports is started with. */
export interface ReportWorkerData {
  /** Origin of the daemon. */
  readonly url: string;
  /** Unix socket to use instead of the URL's host. */
  readonly socketPath: string | undefined;
  /** File with the token that the daemon asks for. */
  readonly tokenFile: string | undefined;
  /** Total milliseconds for an answer. */
  readonly timeoutMs: number;
}

/** What the thread is told. */
export type ReportOrder =
  | {
      readonly kind: 'forward';
      /** Of this read, among those of the thread. */
      readonly id: number;
      readonly report: ReportName;
      /** Validated parameters, encoded. */
      readonly query: string;
      readonly requestId: string;
      readonly via: string;
    }
  /** Nobody waits for this read any more. */
  | { readonly kind: 'drop'; readonly id: number };

/** What the thread answers: one for each read that it was not told to drop. */
export type ReportOutcome =
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly status: number;
      readonly contentType: string;
      readonly etag: string | null;
      readonly body: Uint8Array<ArrayBuffer>;
    }
  | {
      readonly kind: 'unavailable';
      readonly id: number;
      readonly code: DaemonFailureCode;
      readonly message: string;
      readonly status: number | null;
      readonly daemonCode: string | null;
    }
  | { readonly kind: 'failed'; readonly id: number; readonly stack: string };
