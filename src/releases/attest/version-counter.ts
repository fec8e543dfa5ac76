import type { Logger } from '../../platform/logging/logging.ts';
import type { AttestationRepository } from '../records/attestation-repository.ts';

/**
 * The most versions that a daemon issues beyond the envelope on the volume. At the shortest validity of 10 s that is
 * enough for 38 days, and version numbers last for 9 billion blocks.
 */
export const VERSION_BLOCK = 1_000_000;

/**
 * Number of versions that a daemon reserves in its database. A crash loses at most these, so a hundred crashes fit in a
 * block. At the shortest validity half of them last for 4 hours without a database that can be written.
 */
export const RESERVED_VERSIONS = 10_000;

export interface EarlierVersions {
  /** From this database: the last version that may have been issued; `null` when it does not know the store. */
  readonly database: number | null;
  /** The highest version on the volume; 0 without one. */
  readonly volume: number;
  /** Whether a daemon with another database used the volume since. */
  readonly otherWriter: boolean;
}

/**
 * The highest version that any earlier process may have issued. A daemon issues at most one block beyond the volume, so
 * a block is skipped when this database does not know what was issued last.
 */
export function lastPossibleVersion({ database, volume, otherWriter }: EarlierVersions): number {
  const highest = Math.max(database ?? 0, volume);
  const isNewStore = highest === 0 && !otherWriter;
  const isKnown = database !== null && database >= volume && !otherWriter;
  return isNewStore || isKnown ? highest : highest + VERSION_BLOCK;
}

/** Counts the versions of one store. A version never names two statements, whatever a crash loses. */
export interface VersionCounter {
  continueFrom(earlier: EarlierVersions): void;
  /** The next version. It is used up, even when its statement is never issued. */
  next(): number;
  noteOnVolume(version: number): void;
  onVolume(): number;
  /** Whether no later process can issue this version again, even if it is stored nowhere. */
  isSafe(version: number): boolean;
  /** Gives the unused reserved versions back before a clean end. */
  release(): void;
}

export function createVersionCounter(
  storeId: string,
  attestations: AttestationRepository,
  logger: Logger,
): VersionCounter {
  let highest: number | null = null;
  let reserved = 0;
  let onVolume = 0;

  const reserve = (upTo: number): void => {
    try {
      attestations.reserve(storeId, upTo);
      reserved = upTo;
    } catch (error) {
      logger.error({ err: error }, 'attestation versions could not be reserved in the database; retrying');
    }
  };

  return {
    continueFrom: (earlier) => {
      highest = lastPossibleVersion(earlier);
      reserved = earlier.database ?? 0;
      onVolume = earlier.volume;
    },
    next: () => {
      if (highest === null) {
        throw new Error('nothing is attested before the recovery has found the last version');
      }
      highest += 1;
      if (reserved - highest < RESERVED_VERSIONS / 2) reserve(highest + RESERVED_VERSIONS);
      return highest;
    },
    noteOnVolume: (version) => {
      onVolume = version;
    },
    onVolume: () => onVolume,
    isSafe: (version) => version <= reserved && version <= onVolume + VERSION_BLOCK,
    release: () => {
      if (highest !== null && reserved > highest) reserve(highest);
    },
  };
}
