import { messageOf } from '../../platform/errors.ts';
import type { Clock } from '../../platform/process/clock.ts';
import {
  holderNameOf,
  StaleLeaseListingError,
  type LeaseFiles,
  type LeaseHolder,
  type StoredLease,
} from './lease-files.ts';
import { StoreReplacedError } from './store-root.ts';

/** Milliseconds between two looks of a standby. */
const LOOK_MS = 1000;
/** Milliseconds for which a lease must not change before another daemon takes it: longer than the holder may write. */
export const LEASE_TAKEOVER_MS = 15_000;

/** Why a daemon waits whose claim came too late. The listing of the volume may not show the winner for a while. */
const CLAIMED_BY_ANOTHER = 'another daemon has just taken the lease of the snapshot volume';

export interface LeaseClaim {
  readonly epoch: number;
  readonly counter: number;
  /** False when the file could not be created, because the volume cannot be written. */
  readonly isCreated: boolean;
  readonly otherWriter: boolean;
}

export interface LeaseClaimOptions {
  readonly holder: LeaseHolder;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onWait: (reason: string) => void;
}

/**
 * Looks until the lease can be claimed.
 *
 * @throws the signal's reason; the error of a volume that cannot be read or is refused
 */
export async function claimLease(files: LeaseFiles, options: LeaseClaimOptions): Promise<LeaseClaim> {
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
    let lease: StoredLease | null;
    try {
      // A standby follows a volume that comes back as another folder.
      await files.volume.confirm();
      lease = await files.newest();
    } catch (error) {
      if (!(error instanceof StaleLeaseListingError || error instanceof StoreReplacedError)) throw error;
      await wait(messageOf(files.volume.named(error)));
      continue;
    }
    if (lease === null) {
      const isCreated = await files.create(1, holder, false).catch(() => null);
      if (isCreated === false) {
        await wait(CLAIMED_BY_ANOTHER);
        continue;
      }
      return { epoch: 1, counter: 0, isCreated: isCreated === true, otherWriter: false };
    }
    if (lease.content?.holder_id === holder.id) {
      const { counter, other_writer: otherWriter } = lease.content;
      return { epoch: lease.epoch, counter, isCreated: true, otherWriter };
    }
    if (observed === null || !isSame(observed.lease, lease)) observed = { lease, since: clock.monotonic() };
    if (clock.monotonic() - observed.since < unchangedMsOf(lease)) {
      await wait(`${holderNameOf(lease)} has the lease of the snapshot volume`);
      continue;
    }
    try {
      if (!(await files.create(lease.epoch + 1, holder, true))) {
        await wait(CLAIMED_BY_ANOTHER);
        continue;
      }
    } catch (error) {
      await wait(
        `the lease of ${holderNameOf(lease)} has ended, but the snapshot volume cannot be written: ${messageOf(files.volume.named(error))}`,
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
