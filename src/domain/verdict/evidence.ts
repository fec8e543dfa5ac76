import type { Channel } from '../release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../release/digest.ts';
import type { ReleaseId } from '../release/release-id.ts';
import { SERVER_INFO_NAME, type ServerInfoDocument } from '../release/server-info-document.ts';
import type { VerifiedAttestation } from './attestation.ts';
import type { ServerDamageFinder, DamageKind } from './damage-kind.ts';
import type { Reason } from './reasons.ts';
import type { Verdict } from './verdict.ts';

/** Everything from which this process decides what it may serve. Immutable; `reduce` makes the next one. */
export interface Evidence {
  readonly volume: VolumeState;
  /** The store last seen on the volume; kept while the volume cannot be read. */
  readonly storeId: string | null;
  /** Highest version accepted for each store, oldest store first. */
  readonly highestVersions: ReadonlyMap<string, number>;
  /** The newest accepted attestation. */
  readonly newest: VerifiedAttestation | null;
  /** Its envelope as received, so that it can be verified again when other keys are trusted. */
  readonly envelope: Uint8Array | null;
  /** The attestation whose releases are served: the newest one, or the previous one while its releases are read. */
  readonly effective: VerifiedAttestation | null;
  /** No version between the two was skipped, so an unnamed release was superseded, not withdrawn in between. */
  readonly isContiguous: boolean;
  /** Set while the newest envelope received is one that was refused. */
  readonly rejection: AttestationRejection | null;
  /** Snapshots that were read. One that is wanted and not here is still being read. */
  readonly snapshots: ReadonlyMap<SnapshotId, SnapshotEvidence>;
  /** Bytes that were found missing or damaged since a snapshot was read, by anyone. */
  readonly damage: ReadonlyMap<Blake3Hex, FoundDamage>;
  readonly verdicts: Readonly<Record<Channel, Verdict | null>>;
}

export type VolumeState =
  | { readonly ok: true; readonly storeId: string }
  | { readonly ok: false; readonly message: string };

export interface AttestationRejection {
  readonly reason: Reason;
  readonly message: string;
  readonly at: number;
}

/** Entries of one kind of trouble: how many, and the first few by name. */
export interface EntryTrouble {
  readonly count: number;
  readonly examples: readonly string[];
}

/** No trouble. */
export const NO_TROUBLE: EntryTrouble = { count: 0, examples: [] };

/** Names of troubled entries that a message gives at most. */
export const TROUBLE_EXAMPLES = 5;

export type SnapshotEvidence =
  | ReadManifest
  | { readonly manifest: 'missing' | 'damaged'; readonly message: string };

/** A manifest with the attested digest. */
export interface ReadManifest {
  readonly manifest: 'ok';
  readonly channel: Channel;
  readonly release_id: ReleaseId;
  readonly entryCount: number;
  /** Entries whose object was absent, of another size, or no regular file when the snapshot was read. */
  readonly missing: EntryTrouble;
}

export interface DamageReport {
  readonly destination: string;
  readonly blake3: Blake3Hex;
  readonly kind: DamageKind;
  readonly message: string;
  readonly found_by?: ServerDamageFinder | undefined;
}

/** Damage, and the snapshots that hold the damaged bytes in their entries. */
export interface FoundDamage {
  readonly report: DamageReport;
  /** For each snapshot that holds these bytes: its entries that were not missing already. */
  readonly holders: ReadonlyMap<SnapshotId, EntryTrouble>;
}

/** Maximum number of digests whose damage is remembered. */
export const MAX_DAMAGE = 20_000;
/** From this number on, only damage that the verdict on a release depends on is remembered: the first of its snapshot. */
const MANY_DAMAGED = 10_000;

/** The evidence of a process that has just started. */
export const NO_EVIDENCE: Evidence = {
  volume: { ok: false, message: 'the snapshot volume has not been read yet' },
  storeId: null,
  highestVersions: new Map(),
  newest: null,
  envelope: null,
  effective: null,
  isContiguous: true,
  rejection: null,
  snapshots: new Map(),
  damage: new Map(),
  verdicts: { official: null, localized: null },
};

/** Highest version accepted for the store on the volume. */
export function highestVersion({ storeId, highestVersions }: Evidence): number {
  return storeId === null ? 0 : (highestVersions.get(storeId) ?? 0);
}

/** Whether a report says something new; the first report of a digest counts until the kind of its damage changes. */
export function isNewDamage(damage: Evidence['damage'], { blake3, kind }: DamageReport): boolean {
  return damage.get(blake3)?.report.kind !== kind;
}

/**
 * Whether there is room to remember damage. Damage without a holder counts as decisive, because the manifest that names
 * the bytes may not have been read yet.
 */
export function hasRoomFor(damage: Evidence['damage'], { report, holders }: FoundDamage): boolean {
  if (damage.size < MANY_DAMAGED || damage.has(report.blake3)) return true;
  if (damage.size >= MAX_DAMAGE) return false;
  const known = [...damage.values()];
  const isSound = (id: SnapshotId): boolean => !known.some((each) => each.holders.has(id));
  return holders.size === 0 || holders.keys().some(isSound);
}

/** Trouble of the server-info document, which counts as one entry. */
const DOCUMENT_TROUBLE: EntryTrouble = { count: 1, examples: [SERVER_INFO_NAME] };

export interface SnapshotTrouble {
  readonly missing: EntryTrouble;
  readonly damaged: EntryTrouble;
}

/**
 * Adds up the troubled entries of one snapshot, and the server-info document of its release. The cost grows with the
 * trouble, not with the snapshot.
 */
export function snapshotTrouble(
  damage: Evidence['damage'],
  snapshotId: SnapshotId,
  missingWhenRead: EntryTrouble,
  document: ServerInfoDocument | null = null,
): SnapshotTrouble {
  let missing = missingWhenRead;
  let damaged = NO_TROUBLE;
  for (const { report, holders } of damage.values()) {
    const held = holders.get(snapshotId);
    if (held === undefined) continue;
    if (report.kind === 'missing') missing = add(missing, held);
    else damaged = add(damaged, held);
  }
  const lost = document === null ? undefined : damage.get(document.blake3);
  if (lost?.report.kind === 'missing') missing = add(missing, DOCUMENT_TROUBLE);
  else if (lost !== undefined) damaged = add(damaged, DOCUMENT_TROUBLE);
  return { missing, damaged };
}

/**
 * The finder of the first known damage of this kind in a snapshot; `undefined` when such damage is known from an
 * attestation only.
 */
export function damageFinder(
  { damage, snapshots }: Evidence,
  snapshotId: SnapshotId,
  kind: DamageReport['kind'] | 'manifest',
): ServerDamageFinder | undefined {
  for (const { report, holders } of damage.values()) {
    const { found_by: foundBy } = report;
    if (report.kind === kind && foundBy !== undefined && holders.has(snapshotId)) return foundBy;
  }
  const snapshot = snapshots.get(snapshotId);
  if (snapshot === undefined) return undefined;
  const isFoundByReader =
    snapshot.manifest === 'ok' ? kind === 'missing' && snapshot.missing.count > 0 : kind === 'manifest';
  return isFoundByReader ? 'loading' : undefined;
}

/** Whether anything is wrong that another check of the volume could find repaired. */
export function hasTrouble({ volume, snapshots, damage }: Evidence): boolean {
  if (!volume.ok || damage.size > 0) return true;
  for (const snapshot of snapshots.values()) {
    if (snapshot.manifest !== 'ok' || snapshot.missing.count > 0) return true;
  }
  return false;
}

function add(left: EntryTrouble, right: EntryTrouble): EntryTrouble {
  if (right.count === 0) return left;
  const examples =
    left.examples.length < TROUBLE_EXAMPLES
      ? [...left.examples, ...right.examples].slice(0, TROUBLE_EXAMPLES)
      : left.examples;
  return { count: left.count + right.count, examples };
}
