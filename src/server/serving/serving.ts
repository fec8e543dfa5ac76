import type { Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { ServerInfoDocument } from '../../domain/release/server-info-document.ts';
import type { AttestedRelease, VerifiedAttestation } from '../../domain/verdict/attestation.ts';
import type { AttestationRejection, DamageReport, VolumeState } from '../../domain/verdict/evidence.ts';
import type { Reason } from '../../domain/verdict/reasons.ts';
import type { Verdict } from '../../domain/verdict/verdict.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';

/** A release that is loaded from the volume and named by the accepted attestation. */
export interface ServedRelease {
  readonly channel: Channel;
  readonly role: 'current' | 'retained';
  readonly releaseId: ReleaseId;
  readonly snapshotId: SnapshotId;
  readonly attested: AttestedRelease;
  /** Unix seconds since when it is current; `null` for an earlier or announced release. */
  readonly currentSince: number | null;
  /** Its server-info document; `null` when it has none. */
  readonly document: ServerInfoDocument | null;
  readonly index: ManifestIndex;
}

/** A release that the newest attestation names and that is not loaded yet, or cannot be, or is withdrawn because of damage. */
export interface PendingRelease {
  readonly channel: Channel;
  readonly role: 'pending';
  readonly releaseId: ReleaseId;
  readonly snapshotId: SnapshotId;
}

/** The releases that are served at one instant. Immutable: a switch replaces the whole object. */
export interface ServingState {
  readonly generation: number;
  readonly current: Readonly<Record<Channel, ServedRelease | null>>;
  /** Current and retained releases by id. */
  readonly byReleaseId: ReadonlyMap<string, ServedRelease>;
  readonly pending: ReadonlyMap<string, PendingRelease>;
}

/** A change of the known damage to the bytes of one digest, of an object or a manifest. */
export interface DamageChange {
  readonly blake3: Blake3Hex;
  /** The damage; `null` when the bytes are sound again, or when no served release holds them. */
  readonly report: DamageReport | null;
}

/** Whether the bytes of one release may be sent now. */
export type Servable =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: Reason; readonly message: string };

/** The one place that decides what this server may serve. */
export interface Serving {
  /** The state from which to answer a request; read it once per request. */
  state(): ServingState;
  /** The verdict on the current release of a channel as of now. */
  verdict(channel: Channel): Verdict;
  /** The verdict on this release, current or retained, as of now. A pending release is never servable. */
  servable(release: ServedRelease | PendingRelease): Servable;
  /** Marks bytes as damaged for all routes; every served release that holds the digest is affected. */
  reportDamage(...reports: readonly DamageReport[]): void;
  /** Calls the listener for every change of the known damage, in the turn in which this server learns of it. */
  watchDamage(listener: (change: DamageChange) => void): void;
  /** Calls the listener when a manifest cannot be read, or can be read again. */
  watchManifests(listener: (change: DamageChange) => void): void;
}

/** An envelope that was verified and accepted. */
export interface AcceptedEnvelope {
  readonly envelope: Uint8Array;
  readonly storeId: string;
  readonly version: number;
}

/** The outcome of offering an envelope. */
export type OfferOutcome = 'accepted' | 'unchanged' | 'refused';

/** {@link Serving} with the calls that supply the evidence. */
export interface ServingControl extends Serving {
  /** Offers an envelope as received. */
  offerEnvelope(envelope: Uint8Array): OfferOutcome;
  /**
   * Reports the state of the volume.
   *
   * @returns whether the volume came back or was replaced; then the daemon must be polled without an entity tag
   */
  observeVolume(volume: VolumeState): boolean;
  /** Reports that the trusted keys changed: an attestation signed only by removed keys no longer counts. */
  observeKeys(keyIds: readonly string[]): void;
  /** Updates verdicts and state to the current time. */
  tick(): void;
  hasTrouble(): boolean;
  recheck(): Promise<void>;
  attestation(): VerifiedAttestation | null;
  /** The same as the daemon signed it. */
  envelope(): Uint8Array | null;
  /** Calls the listener for every accepted attestation. */
  watchAttestation(listener: (accepted: AcceptedEnvelope) => void): void;
  /** Why the newest envelope was refused, or `null` if it was not. */
  rejection(): AttestationRejection | null;
  stop(): Promise<void>;
}
