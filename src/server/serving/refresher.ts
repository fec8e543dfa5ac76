import type { Clock } from '../../platform/process/clock.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../daemon-client/daemon-unavailable.ts';
import type { ServingControl } from './create-serving.ts';
import type { SnapshotVolume } from './snapshot-volume.ts';
import type { TrustedKeyRing } from './trusted-key-ring.ts';

/** Milliseconds between the steps of the two loops. */
export const REFRESH_INTERVALS = {
  /** First wait after a failed poll; doubles up to the last one. */
  failureFirst: 500,
  failureLast: 15_000,
  /** After an envelope that was refused, or while the daemon has none. */
  nothingNew: 2_000,
  /** Least time between two polls, for a daemon that does not wait. */
  least: 250,
  /** Between two looks at the volume while something is wrong, and while nothing is. */
  trouble: 2_000,
  calm: 10_000,
  /** Between two looks at the key files. */
  keys: 1_000,
} as const;

/** How the refresh goes; times in Unix milliseconds. */
export interface RefreshDiagnostics {
  readonly lastAttemptAt: number | null;
  readonly lastSuccessAt: number | null;
  /** Polls without a usable answer since the last good one; a refused attestation is no usable answer. */
  readonly consecutiveFailures: number;
  /** Code of the last failure since the last success, `null` when there was none. */
  readonly lastErrorCode: string | null;
}

/** How one poll ended; a metric label. */
export type RefreshOutcome = 'accepted' | 'unchanged' | 'refused' | 'none' | 'failed';

/** Keeps the evidence fresh. */
export interface Refresher {
  /** @param first an envelope to judge before the daemon is asked, where there is one */
  start(first?: Uint8Array | null): void;
  /** Looks at the volume and at everything in trouble now instead of at the next turn. */
  wake(): void;
  diagnostics(): RefreshDiagnostics;
  stop(): Promise<void>;
}

/** What {@link createRefresher} needs. */
export interface RefresherOptions {
  readonly client: Pick<DaemonClient, 'fetchAttestation'>;
  readonly serving: ServingControl;
  readonly volume: SnapshotVolume;
  readonly trustedKeys: TrustedKeyRing;
  readonly clock: Clock;
  /** 0 (inclusive) to 1, for jitter. */
  readonly random: () => number;
  readonly waitSeconds: number;
  readonly onOutcome: (outcome: RefreshOutcome, error: unknown) => void;
}

/**
 * Makes the three loops: one polls the daemon, one looks at the volume, the clock and what is in trouble, one at the key
 * files. None waits for another, so a daemon or a disk that hangs delays nothing else.
 */
export function createRefresher(options: RefresherOptions): Refresher {
  const { client, serving, volume, trustedKeys, clock } = options;
  const stopping = new AbortController();
  let pollAbort = new AbortController();
  let sleepAbort = new AbortController();
  let etag: string | null = null;
  let diagnostics: RefreshDiagnostics = {
    lastAttemptAt: null,
    lastSuccessAt: null,
    consecutiveFailures: 0,
    lastErrorCode: null,
  };
  let loops: Promise<unknown> = Promise.resolve();
  let rechecking = false;

  const jitter = (ms: number): number => ms * (0.5 + 0.5 * options.random());

  /** Sleeps; ends early without error when the signal is aborted. */
  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    const either = AbortSignal.any([stopping.signal, signal]);
    if (either.aborted) return;
    try {
      await clock.sleep(ms, either);
    } catch (error) {
      if (!either.aborted) throw error;
    }
  };

  const failed = (lastErrorCode: string | null): RefreshDiagnostics => ({
    ...diagnostics,
    consecutiveFailures: diagnostics.consecutiveFailures + 1,
    lastErrorCode,
  });

  /** One poll; returns how long to wait before the next. */
  const poll = async (signal: AbortSignal): Promise<number> => {
    const startedAt = clock.monotonic();
    diagnostics = { ...diagnostics, lastAttemptAt: clock.now() };
    try {
      const answer = await client.fetchAttestation({ etag, waitSeconds: options.waitSeconds, signal });
      const outcome = answer.kind === 'envelope' ? serving.offerEnvelope(answer.envelope) : answer.kind;
      diagnostics =
        outcome === 'refused'
          ? failed(serving.rejection()?.reason ?? null)
          : { ...diagnostics, lastSuccessAt: clock.now(), consecutiveFailures: 0, lastErrorCode: null };
      options.onOutcome(outcome, null);
      if (answer.kind === 'envelope' && outcome !== 'refused') etag = answer.etag;
      if (outcome === 'refused' || outcome === 'none') {
        etag = null;
        return jitter(REFRESH_INTERVALS.nothingNew);
      }
      if (outcome === 'accepted' && etag !== null) return 0;
      return Math.max(0, REFRESH_INTERVALS.least - (clock.monotonic() - startedAt));
    } catch (error) {
      if (signal.aborted) return 0;
      diagnostics = failed(error instanceof DaemonUnavailable ? error.code : 'internal');
      const failures = diagnostics.consecutiveFailures;
      options.onOutcome('failed', error);
      const { failureFirst, failureLast } = REFRESH_INTERVALS;
      return jitter(Math.min(failureLast, failureFirst * 2 ** Math.min(failures - 1, 10)));
    }
  };

  const pollLoop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { signal } = pollAbort;
      const waitMs = await poll(AbortSignal.any([stopping.signal, signal]));
      if (waitMs > 0) await pause(waitMs, signal);
    }
  };

  const recheck = async (): Promise<void> => {
    if (rechecking || !serving.hasTrouble()) return;
    rechecking = true;
    try {
      await serving.recheck();
    } catch (error) {
      options.onOutcome('failed', error);
    } finally {
      rechecking = false;
    }
  };

  /** Asks the daemon now, as if nothing had been received. */
  const askAfresh = (): void => {
    etag = null;
    pollAbort.abort();
    pollAbort = new AbortController();
  };

  const look = async (): Promise<void> => {
    if (serving.observeVolume(await volume.look())) askAfresh();
    serving.tick();
    void recheck();
  };

  const volumeLoop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await look();
      await pause(
        serving.hasTrouble() ? REFRESH_INTERVALS.trouble : REFRESH_INTERVALS.calm,
        sleepAbort.signal,
      );
    }
  };

  const keyLoop = async (): Promise<void> => {
    const never = new AbortController().signal;
    while (!stopping.signal.aborted) {
      if (await trustedKeys.refresh()) {
        serving.observeKeys(trustedKeys.current().map(({ keyId }) => keyId));
        askAfresh();
      }
      await pause(REFRESH_INTERVALS.keys, never);
    }
  };

  return {
    start: (first = null) => {
      // The volume first: without its store id no attestation can be judged.
      loops = volume.look().then(async (state) => {
        serving.observeVolume(state);
        if (first !== null) options.onOutcome(serving.offerEnvelope(first), null);
        await Promise.all([pollLoop(), volumeLoop(), keyLoop()]);
      });
    },
    wake: () => {
      sleepAbort.abort();
      sleepAbort = new AbortController();
    },
    diagnostics: () => diagnostics,
    stop: async () => {
      stopping.abort();
      await loops;
    },
  };
}
