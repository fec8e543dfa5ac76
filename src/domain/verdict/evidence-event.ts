import type { Blake3Hex, SnapshotId } from '../release/digest.ts';
import type { Result } from '../result.ts';
import type { VerifiedAttestation } from './attestation.ts';
import type { Refusal } from './attestation-acceptance.ts';
import type { EntryTrouble, FoundDamage, SnapshotEvidence, VolumeState } from './evidence.ts';

/** Everything that can change the evidence. `at` is the instant at which it was learned, Unix milliseconds. */
export type EvidenceEvent = { readonly at: number } & (
  | {
      /** An envelope arrived; its signatures were verified where it arrived. */
      readonly type: 'envelope-offered';
      readonly envelope: Uint8Array;
      readonly verified: Result<VerifiedAttestation, Refusal>;
    }
  /** The root of the snapshot volume was read, or could not be read. */
  | { readonly type: 'volume-observed'; readonly volume: VolumeState }
  | {
      readonly type: 'keys-observed';
      readonly keyIds: readonly string[];
      /** The newest envelope, verified again with these keys; `null` when there is none. */
      readonly newest: Result<VerifiedAttestation, Refusal> | null;
    }
  | {
      /** A snapshot was read, or some of its missing objects came back. */
      readonly type: 'snapshot-bound';
      readonly snapshotId: SnapshotId;
      readonly snapshot: SnapshotEvidence;
      /** Known damage that this snapshot holds. */
      readonly damage: ReadonlyMap<Blake3Hex, EntryTrouble>;
    }
  | { readonly type: 'damage-found'; readonly found: readonly FoundDamage[] }
  /** The bytes were read again and are sound, or nothing that can be read holds them. */
  | { readonly type: 'damage-repaired'; readonly digests: readonly Blake3Hex[] }
  | { readonly type: 'time-passed' }
);

export type EventOf<T extends EvidenceEvent['type']> = Extract<EvidenceEvent, { readonly type: T }>;
