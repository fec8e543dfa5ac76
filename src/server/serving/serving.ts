import type { AttestedRelease } from '../../domain/verdict/attestation.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../../domain/release/digest.ts';
import type { Reason } from '../../domain/verdict/reasons.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';
import type { Verdict } from '../../domain/verdict/verdict.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';

/** One release that is loaded from the volume and named by the accepted attestation. */
export interface ServedRelease {
  readonly channel: Channel;
  readonly role: 'current' | 'retained';
  readonly releaseId: ReleaseId;
  readonly snapshotId: SnapshotId;
  readonly attested: AttestedRelease;
  readonly index: ManifestIndex;
}

/** What is served at one instant. Immutable: a switch replaces the whole object at once. */
export interface ServingState {
  /** Grows with every switch. */
  readonly generation: number;
  readonly current: Readonly<Record<Channel, ServedRelease | null>>;
  /** Current and retained releases by id. */
  readonly byReleaseId: ReadonlyMap<string, ServedRelease>;
  /** Releases that the newest attestation authorizes and that are not loaded yet, or cannot be. */
  readonly pendingReleaseIds: ReadonlySet<string>;
}

/** Damage that a reader found. */
export interface DamageReport {
  readonly destination: string;
  readonly blake3: Blake3Hex;
  readonly kind: 'missing' | 'damaged';
  readonly message: string;
}

/** What became known of the bytes of one digest. */
export interface DamageChange {
  readonly blake3: Blake3Hex;
  /** What is wrong with them; `null` when they are sound again, or nothing served holds them any more. */
  readonly report: DamageReport | null;
}

/** Whether the bytes of one release may leave now. */
export type Servable =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: Reason; readonly message: string };

/** The one place that knows what may leave this server. Everything else asks it. */
export interface Serving {
  /** The state to answer one request from; take it once per request. */
  state(): ServingState;
  /** The verdict on a channel as of now. */
  verdict(channel: Channel): Verdict;
  /** Whether this release, current or retained, may leave now: its verdict, or the validity and soundness of a retained one. */
  servable(release: ServedRelease): Servable;
  /** Marks bytes as damaged for every route at once; every served release that holds the digest is affected. */
  reportDamage(report: DamageReport): void;
  /** Tells of every change of what is known to be damaged, in the turn in which it becomes known. */
  watchDamage(listener: (change: DamageChange) => void): void;
}
