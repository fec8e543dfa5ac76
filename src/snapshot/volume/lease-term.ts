import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { LeaseClaim } from './lease-claim.ts';
import { StoreLeaseExpiredError, StoreLeaseLostError } from './lease-errors.ts';
import {
  holderNameOf,
  type LeaseFiles,
  type LeaseHolder,
  type LeaseState,
  type StoredLease,
} from './lease-files.ts';

/** Milliseconds for which the holder writes after the start of its last successful renewal. */
export const LEASE_VALID_MS = 10_000;

export interface StoreLeaseStatus {
  /** `expired`: no renewal has failed, but none was tried in time, for example while the process was paused. */
  readonly state: 'held' | 'expired' | 'unconfirmed' | 'lost';
  readonly message: string;
  /** What is at the path of the volume instead of the store, such as `it holds another store`; `null` when the store is there. */
  readonly replacedBy: string | null;
}

export interface LeaseTermOptions {
  readonly holder: LeaseHolder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onLost: (error: StoreLeaseLostError) => void;
}

export class LeaseTerm {
  readonly #files: LeaseFiles;
  readonly #epoch: number;
  readonly #options: LeaseTermOptions;
  #counter: number;
  #isCreated: boolean;
  #renewing: Promise<void> | null = null;
  /** When the last renewal began, milliseconds of the monotonic clock. */
  #renewedAt = -Infinity;
  #confirmed: { readonly monotonic: number; readonly wall: number } | null = null;
  #failure: unknown = null;
  #lost: StoreLeaseLostError | null = null;
  #otherWriter: boolean;

  constructor(
    files: LeaseFiles,
    { epoch, counter, isCreated, otherWriter }: LeaseClaim,
    options: LeaseTermOptions,
  ) {
    this.#files = files;
    this.#epoch = epoch;
    this.#counter = counter;
    this.#isCreated = isCreated;
    this.#otherWriter = otherWriter;
    this.#options = options;
  }

  noteRecovered(): void {
    this.#otherWriter = false;
  }

  isValid(): boolean {
    if (this.#lost !== null || this.#files.volume.replaced !== null) return false;
    if (this.#confirmed === null) return false;
    const { clock } = this.#options;
    const monotonic = clock.monotonic() - this.#confirmed.monotonic;
    // The monotonic clock stands still while the machine sleeps. A wall clock that jumps forward only causes a renewal.
    return Math.max(monotonic, clock.now() - this.#confirmed.wall) < LEASE_VALID_MS;
  }

  check(): void {
    if (this.#lost !== null) throw this.#lost;
    if (this.#files.volume.replaced !== null) throw this.#files.volume.replaced;
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
    this.#renewedAt = started.monotonic;
    try {
      await this.#write();
      await this.#refuseNewer();
    } catch (failure) {
      const error = this.#files.volume.named(failure);
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
      if (await this.#files.write(this.#epoch, holder, this.#state(false))) return;
      // A newer holder removed the file, or somebody removed the folder.
      await this.#refuseNewer();
      await this.#files.volume.refuseEmpty();
    }
    this.#isCreated = await this.#files.create(this.#epoch, holder, this.#otherWriter);
    if (!this.#isCreated) this.#lose(await this.#files.newest());
  }

  #state(released: boolean): LeaseState {
    return { counter: this.#counter, released, other_writer: this.#otherWriter };
  }

  async #refuseNewer(): Promise<void> {
    if (this.#lost !== null) throw this.#lost;
    const newest = await this.#files.newest();
    if (newest !== null && newest.epoch > this.#epoch) this.#lose(newest);
  }

  #lose(newest: StoredLease | null): never {
    if (this.#lost !== null) throw this.#lost;
    this.#lost = new StoreLeaseLostError(
      `was lost to ${newest === null ? 'an unknown daemon' : holderNameOf(newest)}`,
    );
    this.#options.onLost(this.#lost);
    throw this.#lost;
  }

  status(): StoreLeaseStatus {
    if (this.#lost !== null) return { state: 'lost', message: this.#lost.message, replacedBy: null };
    const { replaced } = this.#files.volume;
    if (replaced !== null) {
      const message = `${replaced.message}; nothing is written until it is back`;
      return { state: 'unconfirmed', message, replacedBy: replaced.finding };
    }
    if (this.isValid()) {
      return { state: 'held', message: 'this daemon is the only writer of the volume', replacedBy: null };
    }
    // A renewal that takes so long is one that the volume does not answer.
    const isStuck =
      this.#renewing !== null && this.#options.clock.monotonic() - this.#renewedAt >= LEASE_VALID_MS;
    if (this.#failure === null && !isStuck) {
      const message = 'the lease of the snapshot volume has expired; it is renewed before the next write';
      return { state: 'expired', message, replacedBy: null };
    }
    return {
      state: 'unconfirmed',
      message: `${new StoreLeaseExpiredError(this.#failure).message}; nothing is written until it is renewed`,
      replacedBy: null,
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
      this.#counter += 1;
      await this.#files.write(this.#epoch, holder, this.#state(true));
    } catch (error) {
      logger.warn(
        { err: error },
        'the lease of the snapshot volume could not be released; it expires automatically',
      );
    }
  }
}
