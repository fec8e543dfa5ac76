import type { AttestationStatement } from '../../domain/verdict/attestation.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { SnapshotWriter } from '../../snapshot/snapshot-writer.ts';
import { StoreLeaseLostError } from '../../snapshot/volume/lease-errors.ts';
import { describeStorageError } from '../../engine/database/storage-failure.ts';
import type { AttestationRepository } from '../records/attestation-repository.ts';
import type { SqlDatabase } from '../records/sql.ts';
import type { VersionCounter } from './version-counter.ts';

/** Stores signed envelopes on the volume and in the database. Either of them may be unable to. */
export interface EnvelopeStorage {
  /**
   * Writes an envelope to the volume.
   *
   * @param mustWrite whether the envelope may not be issued without the volume
   * @throws the error of the volume, when the envelope must not be issued
   */
  publish(envelope: Buffer, version: number, mustWrite: boolean): Promise<void>;
  /**
   * Stores an issued envelope in the database.
   *
   * @param record a change in the same transaction, or `null`
   * @throws the error of the database when there is a change
   */
  record(
    envelope: Buffer,
    statement: AttestationStatement,
    payloadSha256: string,
    record: (() => void) | null,
  ): void;
  lag(): string | null;
  volumeError(): unknown;
}

export function createEnvelopeStorage({
  database,
  attestations,
  writer,
  versions,
  logger,
}: {
  readonly database: SqlDatabase;
  readonly attestations: AttestationRepository;
  readonly writer: SnapshotWriter;
  readonly versions: VersionCounter;
  readonly logger: Logger;
}): EnvelopeStorage {
  const lags: { volume: string | null; database: string | null } = { volume: null, database: null };

  let volumeError: unknown = null;

  const noteLag = (where: keyof typeof lags, message: string | null): void => {
    if (message !== null && lags[where] === null) logger.error(message);
    if (message === null && lags[where] !== null) logger.info(`the ${where} has the newest envelope again`);
    lags[where] = message;
  };

  return {
    publish: async (envelope, version, mustWrite) => {
      try {
        await writer.publishAttestation(envelope, version);
        versions.noteOnVolume(version);
        volumeError = null;
        noteLag('volume', null);
      } catch (error) {
        volumeError = error;
        if (mustWrite || error instanceof StoreLeaseLostError || !versions.isSafe(version)) throw error;
        const reason = describeStorageError(error);
        noteLag('volume', `the envelope on the volume is version ${versions.onVolume()} and lags: ${reason}`);
      }
    },
    record: (envelope, { version, issued_at, expires_at }, payload_sha256, record) => {
      try {
        database.transaction(() => {
          attestations.set(writer.storeId, { version, payload_sha256, envelope, issued_at, expires_at });
          record?.();
        });
        noteLag('database', null);
      } catch (error) {
        if (record !== null) throw error;
        noteLag('database', `the database cannot store the envelope: ${describeStorageError(error)}`);
      }
    },
    volumeError: () => volumeError,
    lag: () => [lags.volume, lags.database].filter((lag) => lag !== null).join('; ') || null,
  };
}
