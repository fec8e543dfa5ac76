import { messageOf } from '../../platform/errors.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createLoop } from '../../platform/process/loop.ts';
import { LeaseFiles, type LeaseHolder, type StoredLease } from './lease-files.ts';

/** Milliseconds between two renewals by the holder, and between two looks of a standby. */
const RENEW_MS = 3000;
const LOOK_MS = 1000;
/** Milliseconds for which the holder writes after the start of its last successful renewal. */
export const LEASE_VALID_MS = 10_000;
/** Milliseconds for which a lease must not change before another daemon takes it. */
export const LEASE_TAKEOVER_MS = 15_000;

/** The holder cannot write now, because it could not renew its lease in time. The next renewal may succeed. */
export class StoreLeaseExpiredError extends Error {
  readonly code: string | null;

  constructor(cause: unknown) {
    super(
      `the lease of the snapshot volume could not be renewed${cause === null ? '' : `: ${messageOf(cause)}`}`,
      { cause },
    );
    this.name = 'StoreLeaseExpiredError';
    // The code of the cause says more.
    this.code = cause === null ? 'ELEASE' : null;
  }
}

/** This daemon's time as the writer is over: another daemon has taken the lease or may take it. It never writes again. */
export class StoreLeaseLostError extends Error {
  readonly code = 'ELEASE';

  /** @param how such as `was released` */
  constructor(how: string) {
    super(`the lease of the snapshot volume ${how}; this daemon writes nothing anymore`);
    this.name = 'StoreLeaseLostError';
  }
}

/** The check that every write to the volume must pass. */
export interface WriteFence {
  /**
   * Resolves when the lease is valid; renews it first when it has expired.
   *
   * @throws StoreLeaseLostError, StoreLeaseExpiredError
   */
  confirm(): Promise<void>;
  /** Throws as `confirm` does, but never renews: for the steps within a write. */
  check(): void;
}

/** The state of a lease, for the doctor report. */
export interface StoreLeaseStatus {
  readonly state: 'held' | 'unconfirmed' | 'lost';
  readonly message: string;
}

/** The right to be the only writer of a snapshot volume. */
export interface StoreLease extends WriteFence {
  /** Whether the last writer of the volume used another data folder. */
  readonly otherWriter: boolean;
  status(): StoreLeaseStatus;
  /** Ends the right to write, then lets others take the lease without a wait. */
  release(): Promise<void>;
}

/** Settings and collaborators of a lease. */
export interface StoreLeaseOptions {
  readonly root: string;
  readonly holder: LeaseHolder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Called with each new reason to wait. */
  readonly onWait: (reason: string) => void;
  /** Called once when another daemon has taken the lease. */
  readonly onLost: (error: StoreLeaseLostError) => void;
}

/**
 * Waits until this daemon may write to the volume, and renews its right until `release`.
 *
 * The lease is the newest file in `lease/`. Its holder changes the file every few seconds. A file with the next number is
 * created exclusively by a daemon that saw no change for longer than the holder writes without a renewal, measured with
 * one clock: the wall clocks of two hosts are never compared. A daemon with the same id takes its own lease again without
 * a wait: its data folder has a lock, so the process that held it has ended.
 *
 * @throws the signal's reason; the error of a volume that cannot be read
 */
export async function acquireStoreLease(options: StoreLeaseOptions): Promise<StoreLease> {
  const files = new LeaseFiles(options.root);
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
    confirm: async () => {
      if (!term.isValid()) await term.renew();
      // The first one may have been in progress for long.
      if (!term.isValid()) await term.renew();
      term.check();
    },
    check: () => {
      term.check();
    },
    status: () => term.status(),
    release: async () => {
      await Promise.all([loop.stop(), term.release()]);
    },
  };
}

interface Claim {
  readonly epoch: number;
  readonly counter: number;
  /** False when the file could not be created, because the volume cannot be written. */
  readonly isCreated: boolean;
  readonly otherWriter: boolean;
}

/** Looks until the lease can be claimed. */
async function claimLease(files: LeaseFiles, options: StoreLeaseOptions): Promise<Claim> {
  const { holder, clock, signal, onWait } = options;
  let observed: { readonly lease: StoredLease; readonly since: number } | null = null;
  let reason = '';
  const wait = async (next: string): Promise<void> => {
    if (next !== reason) onWait(next);
    reason = next;
    await clock.sleep(LOOK_MS, signal);
  };
  for (;;) {
    signal.throwIfAborted();
    const lease = await files.newest();
    if (lease === null) {
      const isCreated = await files.create(1, holder).catch(() => null);
      if (isCreated === false) continue;
      return { epoch: 1, counter: 0, isCreated: isCreated === true, otherWriter: false };
    }
    if (lease.content?.holder_id === holder.id) {
      return { epoch: lease.epoch, counter: lease.content.counter, isCreated: true, otherWriter: false };
    }
    if (observed === null || !isSame(observed.lease, lease)) observed = { lease, since: clock.monotonic() };
    if (clock.monotonic() - observed.since < unchangedMsOf(lease)) {
      await wait(`${nameOf(lease)} has the lease of the snapshot volume`);
      continue;
    }
    try {
      if (!(await files.create(lease.epoch + 1, holder))) continue;
    } catch (error) {
      await wait(
        `the lease of ${nameOf(lease)} has ended, but the snapshot volume cannot be written: ${messageOf(error)}`,
      );
      continue;
    }
    // The holder may have renewed, or taken its released lease again, between the last look and the claim. From now on
    // its renewals fail.
    const before = await files.read(lease.epoch);
    if (before === null || !isSame(before, lease)) await clock.sleep(LEASE_TAKEOVER_MS, signal);
    return { epoch: lease.epoch + 1, counter: 0, isCreated: true, otherWriter: true };
  }
}

/** Milliseconds for which a lease must not change before it can be claimed. */
function unchangedMsOf({ bytes, content }: StoredLease): number {
  if (content?.released === true) return 0;
  // Nobody holds an empty file, but its creator may be about to write it.
  return bytes.length === 0 ? LOOK_MS : LEASE_TAKEOVER_MS;
}

function isSame(left: StoredLease, right: StoredLease): boolean {
  return left.epoch === right.epoch && left.bytes.equals(right.bytes);
}

function nameOf({ content }: StoredLease): string {
  return content === null ? 'an unknown daemon' : `the daemon ${content.holder}`;
}

/** The time for which this daemon holds one lease. */
class LeaseTerm {
  readonly #files: LeaseFiles;
  readonly #epoch: number;
  readonly #options: StoreLeaseOptions;
  #counter: number;
  #isCreated: boolean;
  #renewing: Promise<void> | null = null;
  #confirmed: { readonly monotonic: number; readonly wall: number } | null = null;
  #failure: unknown = null;
  #lost: StoreLeaseLostError | null = null;

  constructor(files: LeaseFiles, { epoch, counter, isCreated }: Claim, options: StoreLeaseOptions) {
    this.#files = files;
    this.#epoch = epoch;
    this.#counter = counter;
    this.#isCreated = isCreated;
    this.#options = options;
  }

  isValid(): boolean {
    if (this.#lost !== null || this.#confirmed === null) return false;
    const { clock } = this.#options;
    const monotonic = clock.monotonic() - this.#confirmed.monotonic;
    // The monotonic clock stands still while the machine sleeps. A wall clock that jumps forward only causes a renewal.
    return Math.max(monotonic, clock.now() - this.#confirmed.wall) < LEASE_VALID_MS;
  }

  check(): void {
    if (this.#lost !== null) throw this.#lost;
    if (!this.isValid()) throw new StoreLeaseExpiredError(this.#failure);
  }

  /** Renews the lease; several calls at a time share one renewal. */
  async renew(): Promise<void> {
    if (this.#lost !== null) throw this.#lost;
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    });
    await this.#renewing;
  }

  /**
   * Changes the file, then looks for a newer one. The order matters: a daemon that creates a newer file reads this one
   * afterwards, so that one of the two always sees the other.
   */
  async #renew(): Promise<void> {
    const { clock, logger } = this.#options;
    const started = { monotonic: clock.monotonic(), wall: clock.now() };
    try {
      await this.#write();
      await this.#refuseNewer();
    } catch (error) {
      // A volume that cannot be written can still tell who has the lease.
      await this.#refuseNewer();
      if (this.#failure === null) {
        logger.error({ err: error }, 'the lease of the snapshot volume cannot be renewed; retrying');
      }
      this.#failure = error;
      throw error;
    }
    if (this.#failure !== null) logger.info('the lease of the snapshot volume is renewed again');
    if (this.#confirmed === null) await this.#files.removeOlder(this.#epoch);
    this.#confirmed = started;
    this.#failure = null;
  }

  async #write(): Promise<void> {
    const { holder } = this.#options;
    this.#counter += 1;
    if (this.#isCreated) {
      try {
        await this.#files.write(this.#epoch, holder, this.#counter, false);
        return;
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
      }
      // A newer holder removed the file, or somebody removed the folder.
      await this.#refuseNewer();
    }
    this.#isCreated = await this.#files.create(this.#epoch, holder);
    if (!this.#isCreated) this.#lose(await this.#files.newest());
  }

  async #refuseNewer(): Promise<void> {
    if (this.#lost !== null) throw this.#lost;
    const newest = await this.#files.newest();
    if (newest !== null && newest.epoch > this.#epoch) this.#lose(newest);
  }

  #lose(newest: StoredLease | null): never {
    if (this.#lost !== null) throw this.#lost;
    this.#lost = new StoreLeaseLostError(
      `was lost to ${newest === null ? 'an unknown daemon' : nameOf(newest)}`,
    );
    this.#options.onLost(this.#lost);
    throw this.#lost;
  }

  status(): StoreLeaseStatus {
    if (this.#lost !== null) return { state: 'lost', message: this.#lost.message };
    if (this.isValid()) return { state: 'held', message: 'this daemon is the only writer of the volume' };
    return {
      state: 'unconfirmed',
      message: `${new StoreLeaseExpiredError(this.#failure).message}; nothing is written until it is renewed`,
    };
  }

  /** Ends the term first, so that nothing is written after another daemon may have taken the lease. */
  async release(): Promise<void> {
    const wasValid = this.isValid();
    this.#lost ??= new StoreLeaseLostError('was released');
    // A renewal in progress would make the lease look held again.
    await this.#renewing?.catch(() => undefined);
    if (!wasValid) return;
    const { holder, logger } = this.#options;
    try {
      await this.#files.write(this.#epoch, holder, this.#counter + 1, true);
    } catch (error) {
      logger.warn(
        { err: error },
        'the lease of the snapshot volume could not be released; it expires by itself',
      );
    }
  }
}
