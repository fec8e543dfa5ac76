import type { Clock } from '../../platform/process/clock.ts';
import {
  createAttestationPoller,
  type AttestationPollerOptions,
  type RefreshDiagnostics,
} from './attestation-poller.ts';
import type { ServingControl } from './serving.ts';
import type { SnapshotVolume } from './snapshot-volume.ts';
import type { TrustedKeyRing } from './trusted-key-ring.ts';

/** Milliseconds between two looks. */
const LOOK_INTERVALS = {
  /** At the volume, with trouble and without. */
  trouble: 2_000,
  calm: 10_000,
  /** At the key files. */
  keys: 1_000,
} as const;

/** Keeps the evidence fresh. */
export interface Refresher {
  /** @param first an envelope to offer before the daemon is polled; default: none */
  start(first?: Uint8Array | null): void;
  /** Checks the volume and everything in trouble now instead of at the next round. */
  wake(): void;
  diagnostics(): RefreshDiagnostics;
  stop(): Promise<void>;
}

export interface RefresherOptions extends AttestationPollerOptions {
  readonly serving: Pick<
    ServingControl,
    'offerEnvelope' | 'rejection' | 'observeVolume' | 'observeKeys' | 'tick' | 'hasTrouble' | 'recheck'
  >;
  readonly volume: SnapshotVolume;
  readonly trustedKeys: TrustedKeyRing;
}

/**
 * Makes the three loops. One polls the daemon; one checks the volume, the clock and everything in trouble; one checks
 * the key files. None waits for another, so a daemon or a disk that hangs delays nothing else.
 */
export function createRefresher(options: RefresherOptions): Refresher {
  const { serving, volume, trustedKeys, clock } = options;
  const poller = createAttestationPoller(options);
  const stopping = new AbortController();
  const poll = createRestart();
  const sleep = createRestart();
  const never = new AbortController().signal;
  let loops: Promise<unknown> = Promise.resolve();
  let rechecking = false;

  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    await sleepUntil(clock, ms, AbortSignal.any([stopping.signal, signal]));
  };

  const askFromTheStart = (): void => {
    poller.forget();
    poll.restart();
  };

  const pollLoop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { signal } = poll;
      const waitMs = await poller.poll(AbortSignal.any([stopping.signal, signal]));
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

  const volumeLoop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      if (serving.observeVolume(await volume.look())) askFromTheStart();
      serving.tick();
      void recheck();
      await pause(serving.hasTrouble() ? LOOK_INTERVALS.trouble : LOOK_INTERVALS.calm, sleep.signal);
    }
  };

  const keyLoop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      if (await trustedKeys.refresh()) {
        serving.observeKeys(trustedKeys.current().map(({ keyId }) => keyId));
        askFromTheStart();
      }
      await pause(LOOK_INTERVALS.keys, never);
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
      sleep.restart();
    },
    diagnostics: () => poller.diagnostics(),
    stop: async () => {
      stopping.abort();
      await loops;
    },
  };
}

/** A signal that ends the current round of a loop; the next round has a new one. */
function createRestart(): { readonly signal: AbortSignal; restart(): void } {
  let abort = new AbortController();
  return {
    get signal() {
      return abort.signal;
    },
    restart: () => {
      const round = abort;
      abort = new AbortController();
      round.abort();
    },
  };
}

/** Sleeps; ends early without an error when the signal is aborted. */
async function sleepUntil(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
