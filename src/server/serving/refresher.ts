import type { VolumeState } from '../../domain/verdict/evidence.ts';
import { createLoop } from '../../platform/process/loop.ts';
import { pause } from '../../platform/process/pause.ts';
import {
  createAttestationPoller,
  type AttestationPollerOptions,
  type RefreshDiagnostics,
} from './attestation-poller.ts';
import type { ServingControl } from './serving.ts';
import type { TrustedKeyRing } from './trusted-key-ring.ts';

/** Milliseconds between two checks. */
const CHECK_INTERVALS = {
  /** At the volume, with trouble and without. */
  trouble: 2_000,
  calm: 10_000,
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

interface RefresherOptions extends Omit<AttestationPollerOptions, 'offer'> {
  readonly readVolume: () => Promise<VolumeState>;
  readonly trustedKeys: TrustedKeyRing;
}

/**
 * Makes the three loops. One polls the daemon; one checks the volume, the clock and everything in trouble; one checks
 * the key files. None waits for another, so a daemon or a disk that hangs delays nothing else.
 */
export function createRefresher(options: RefresherOptions): Refresher {
  const { serving, trustedKeys, clock } = options;
  const { checkVolume, offer } = createVolumeCheck(serving, options.readVolume);
  const poller = createAttestationPoller({ ...options, offer });
  const stopping = new AbortController();
  const poll = createRestart();
  let polling: Promise<unknown> = Promise.resolve();
  let rechecking = false;

  const askFromTheStart = (): void => {
    poller.forget();
    poll.restart();
  };

  const pollLoop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const signal = AbortSignal.any([stopping.signal, poll.signal]);
      const waitMs = await poller.poll(signal);
      if (waitMs > 0) await pause(clock, waitMs, signal);
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

  const onFailure = (error: unknown): number => {
    options.onOutcome('failed', error);
    return CHECK_INTERVALS.trouble;
  };

  const volumeLoop = createLoop({
    clock,
    turn: async () => {
      if (await checkVolume()) askFromTheStart();
      serving.tick();
      void recheck();
      return serving.hasTrouble() ? CHECK_INTERVALS.trouble : CHECK_INTERVALS.calm;
    },
    onFailure,
  });

  const keyLoop = createLoop({
    clock,
    turn: async () => {
      if (await trustedKeys.refresh()) {
        serving.observeKeys(trustedKeys.current().map(({ keyId }) => keyId));
        askFromTheStart();
      }
      return CHECK_INTERVALS.keys;
    },
    onFailure,
  });

  return {
    start: (first = null) => {
      // The volume first: without its store id no attestation can be judged.
      polling = checkVolume().then(async () => {
        if (first !== null) options.onOutcome(serving.offerEnvelope(first), null);
        volumeLoop.start();
        keyLoop.start();
        await pollLoop();
      });
    },
    wake: () => {
      volumeLoop.wake();
    },
    diagnostics: () => poller.diagnostics(),
    stop: async () => {
      stopping.abort();
      await Promise.all([polling, volumeLoop.stop(), keyLoop.stop()]);
    },
  };
}

/** Checks the volume for the loop, and for an envelope that arrives while no volume is known. */
function createVolumeCheck(
  serving: ServingControl,
  readVolume: () => Promise<VolumeState>,
): {
  readonly checkVolume: () => Promise<boolean>;
  readonly offer: AttestationPollerOptions['offer'];
} {
  let isReadable = false;
  const checkVolume = async (): Promise<boolean> => {
    const state = await readVolume();
    isReadable = state.ok;
    return serving.observeVolume(state);
  };
  return {
    checkVolume,
    offer: async (envelope) => {
      // The first start of a daemon makes the volume a moment before its first attestation, between two checks of the loop.
      if (!isReadable) await checkVolume();
      return serving.offerEnvelope(envelope);
    },
  };
}

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
