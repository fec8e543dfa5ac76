import type { Clock } from '../../platform/process/clock.ts';
import type { AttestationAnswer, DaemonClient } from '../daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../daemon-client/daemon-unavailable.ts';
import type { OfferOutcome, ServingControl } from './serving.ts';

const POLL_INTERVALS = {
  /** First wait after a failed poll; each further failure doubles it, up to `failureLast`. */
  failureFirst: 500,
  failureLast: 15_000,
  /**
   * The same while nothing accepts the connection, or the daemon starts. Such a poll costs little, and a daemon that has started is
   * found soon.
   */
  absentLast: 1_000,
  /** After an envelope was refused, and while the daemon has none or is a standby. */
  nothingNew: 2_000,
  /** Minimum between two polls, for a daemon that answers without waiting. */
  least: 250,
} as const;

/** The state of the polling; times in Unix milliseconds. */
export interface RefreshDiagnostics {
  readonly lastAttemptAt: number | null;
  readonly lastSuccessAt: number | null;
  /** Polls without a usable answer since the last good one; a refused attestation counts as one. */
  readonly consecutiveFailures: number;
  /** Code of the last failure since the last success; `null` if there was none. */
  readonly lastErrorCode: string | null;
}

/** The ends of a poll; a metric label. */
export const REFRESH_OUTCOMES = ['accepted', 'unchanged', 'refused', 'none', 'failed'] as const;

/** One of {@link REFRESH_OUTCOMES}. */
export type RefreshOutcome = (typeof REFRESH_OUTCOMES)[number];

interface AttestationPoller {
  /**
   * Polls the daemon once.
   *
   * @param signal ends the poll without a result
   * @returns milliseconds to wait before the next one
   */
  poll(signal: AbortSignal): Promise<number>;
  /** Makes the next poll ask as if no answer had been received. */
  forget(): void;
  diagnostics(): RefreshDiagnostics;
}

export interface AttestationPollerOptions {
  readonly fetchAttestation: DaemonClient['fetchAttestation'];
  /** Reads the newest envelope on the volume, `null` for none. It is used only while the daemon is a standby. */
  readonly readVolumeEnvelope: () => Promise<Uint8Array | null>;
  readonly offer: (envelope: Uint8Array) => Promise<OfferOutcome>;
  readonly serving: ServingControl;
  readonly clock: Clock;
  readonly random: () => number;
  readonly waitSeconds: number;
  readonly onOutcome: (outcome: RefreshOutcome, error: unknown) => void;
}

/** Makes a poller that has not polled yet. */
export function createAttestationPoller(options: AttestationPollerOptions): AttestationPoller {
  const { serving, clock, waitSeconds, onOutcome } = options;
  let etag: string | null = null;
  let diagnostics: RefreshDiagnostics = {
    lastAttemptAt: null,
    lastSuccessAt: null,
    consecutiveFailures: 0,
    lastErrorCode: null,
  };

  const jitter = (ms: number): number => ms * (0.5 + 0.5 * options.random());

  const noteFailure = (lastErrorCode: string | null): void => {
    const consecutiveFailures = diagnostics.consecutiveFailures + 1;
    diagnostics = { ...diagnostics, consecutiveFailures, lastErrorCode };
  };

  const outcomeOf = async (answer: AttestationAnswer): Promise<RefreshOutcome> => {
    if (answer.kind === 'envelope') return await options.offer(answer.envelope);
    if (answer.kind !== 'standby') return answer.kind;
    const envelope = await options.readVolumeEnvelope();
    return envelope === null ? 'none' : await options.offer(envelope);
  };

  const ask = async (signal: AbortSignal): Promise<number> => {
    const startedAt = clock.monotonic();
    const answer = await options.fetchAttestation({ etag, waitSeconds, signal });
    const outcome = await outcomeOf(answer);
    if (outcome === 'refused') noteFailure(serving.rejection()?.reason ?? null);
    else {
      const lastSuccessAt = clock.now();
      diagnostics = { ...diagnostics, lastSuccessAt, consecutiveFailures: 0, lastErrorCode: null };
    }
    onOutcome(outcome, null);
    if (outcome === 'refused' || outcome === 'none' || answer.kind === 'standby') {
      etag = null;
      return jitter(POLL_INTERVALS.nothingNew);
    }
    if (answer.kind === 'envelope') etag = answer.etag;
    if (outcome === 'accepted' && etag !== null) return 0;
    return Math.max(0, POLL_INTERVALS.least - (clock.monotonic() - startedAt));
  };

  return {
    poll: async (signal) => {
      diagnostics = { ...diagnostics, lastAttemptAt: clock.now() };
      try {
        return await ask(signal);
      } catch (error) {
        if (signal.aborted) return 0;
        noteFailure(error instanceof DaemonUnavailable ? error.code : 'internal');
        onOutcome('failed', error);
        const { failureFirst, failureLast, absentLast } = POLL_INTERVALS;
        const doublings = Math.min(diagnostics.consecutiveFailures - 1, 10);
        const last = isAbsence(error) ? absentLast : failureLast;
        return jitter(Math.min(last, failureFirst * 2 ** doublings));
      }
    },
    forget: () => {
      etag = null;
    },
    diagnostics: () => diagnostics,
  };
}

function isAbsence(error: unknown): boolean {
  if (!(error instanceof DaemonUnavailable)) return false;
  return error.code === 'unreachable' || error.daemonCode === 'backend_unavailable';
}
