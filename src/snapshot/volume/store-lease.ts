import { createLoop } from '../../platform/process/loop.ts';
import { claimLease, type LeaseClaimOptions } from './lease-claim.ts';
import { LeaseFiles } from './lease-files.ts';
import { LeaseTerm, type LeaseTermOptions, type StoreLeaseStatus } from './lease-term.ts';
import type { StoreRoot } from './store-root.ts';

/** Milliseconds between two renewals by the holder. */
const RENEW_MS = 3000;

/** The check that every write to the volume must pass. */
export interface WriteFence {
  /**
   * Resolves when the lease is valid; renews it first when it has expired.
   *
   * @throws StoreLeaseLostError, StoreLeaseExpiredError; StoreReplacedError when the volume is not that of the lease
   */
  confirm(): Promise<void>;
  /** Throws as `confirm` does, but never renews: for the steps within a write. */
  check(): void;
}

/** The right to be the only writer of a snapshot volume. */
export interface StoreLease extends WriteFence {
  /**
   * Whether a writer with another data folder wrote to the volume since this daemon last called `noteRecovered`. A crash
   * in between does not change it.
   */
  readonly otherWriter: boolean;
  /** Records, with the next renewal, that this daemon has recovered from the writes of an earlier writer. */
  noteRecovered(): void;
  status(): StoreLeaseStatus;
  /** Ends the right to write, then lets others take the lease without a wait. */
  release(): Promise<void>;
}

interface StoreLeaseOptions extends LeaseClaimOptions, LeaseTermOptions {
  readonly volume: StoreRoot;
}

/**
 * Waits until this daemon may write to the volume, and renews its right until `release`.
 *
 * The lease is the newest file in `lease/`. Its holder changes the file every few seconds. A file with the next number is
 * created exclusively by a daemon that saw no change for longer than the holder writes without a renewal, measured with
 * one clock: the wall clocks of two hosts are never compared. A daemon with the same id takes its own lease again without
 * a wait: its data folder has a lock, so the process that held it has ended.
 *
 * @throws the signal's reason; the error of a volume that cannot be read or is refused
 */
export async function acquireStoreLease(options: StoreLeaseOptions): Promise<StoreLease> {
  const files = new LeaseFiles(options.volume);
  const claim = await claimLease(files, options);
  const term = new LeaseTerm(files, claim, options);
  // A volume that cannot be written does not stop the daemon: it writes nothing until a renewal succeeds.
  await term.renew().catch(() => undefined);
  const loop = createLoop({
    clock: options.clock,
    turn: async () => {
      await term.renew();
      return RENEW_MS;
    },
    onFailure: () => RENEW_MS,
  });
  loop.start();
  return {
    otherWriter: claim.otherWriter,
    noteRecovered: () => term.noteRecovered(),
    confirm: async () => {
      if (!term.isValid()) await term.renew();
      // The first one may have been in progress for long.
      if (!term.isValid()) await term.renew();
      term.check();
    },
    check: () => term.check(),
    status: () => term.status(),
    release: async () => {
      await Promise.all([loop.stop(), term.release()]);
    },
  };
}
