import { CHANNELS } from '../release/channel.ts';
import type { Blake3Hex } from '../release/digest.ts';
import type { VerifiedAttestation } from './attestation.ts';
import { acceptAttestation, type Refusal } from './attestation-acceptance.ts';
import { evaluate, evaluateChannels } from './evaluate.ts';
import {
  hasRoomFor,
  highestVersion,
  isNewDamage,
  NO_EVIDENCE,
  type Evidence,
  type FoundDamage,
} from './evidence.ts';
import type { EventOf, EvidenceEvent } from './evidence-event.ts';
import { attestationFor, wantedSnapshots } from './effective-attestation.ts';
import { wantedDocuments } from './release-document.ts';

/** Stores whose highest version is remembered; a volume is rarely replaced. */
const MAX_REMEMBERED_STORES = 64;

/**
 * Takes one event into the evidence. Pure: the old evidence stays as it is. The cost grows with the number of releases
 * and of damaged objects, not with the size of a snapshot.
 */
export function reduce(evidence: Evidence, event: EvidenceEvent): Evidence {
  const next = forgetUnwanted(evidence, releaseHold(learn(evidence, event), event.at));
  return { ...next, verdicts: evaluateChannels(next, event.at) };
}

function learn(evidence: Evidence, event: EvidenceEvent): Evidence {
  switch (event.type) {
    case 'envelope-offered':
      return offerEnvelope(evidence, event);
    case 'volume-observed':
      return observeVolume(evidence, event);
    case 'keys-observed':
      return observeKeys(evidence, event);
    case 'snapshot-bound':
      return bindSnapshot(evidence, event);
    case 'damage-found':
      return findDamage(evidence, event);
    case 'damage-repaired': {
      const repaired = new Set(event.digests);
      return { ...evidence, damage: filterMap(evidence.damage, (_, blake3) => !repaired.has(blake3)) };
    }
    case 'time-passed':
      return evidence;
  }
}

/** A rejected envelope changes only the rejection. */
function offerEnvelope(
  evidence: Evidence,
  { envelope, verified, at }: EventOf<'envelope-offered'>,
): Evidence {
  const { storeId, newest, volume } = evidence;
  const refuse = (refusal: Refusal): Evidence => {
    const isSame =
      evidence.rejection?.reason === refusal.reason && evidence.rejection.message === refusal.message;
    return isSame ? evidence : { ...evidence, rejection: { ...refusal, at } };
  };
  if (storeId === null)
    return refuse({ reason: 'SnapshotMissing', message: volume.ok ? '' : volume.message });
  if (!verified.ok) return refuse(verified.error);
  const candidate = verified.value;
  const known = { storeId, accepted: newest, highestVersion: highestVersion(evidence) };
  const decision = acceptAttestation(candidate, known, at);
  if (!decision.ok) return refuse(decision.error);
  if (!decision.value.isNew) return { ...evidence, rejection: null };
  const { version } = candidate.statement;
  return {
    ...evidence,
    rejection: null,
    newest: candidate,
    envelope,
    highestVersions: rememberVersion(evidence.highestVersions, storeId, version),
    isContiguous: evidence.isContiguous && newest !== null && version === newest.statement.version + 1,
  };
}

/**
 * Another store than before voids every attestation, because they speak of other bytes. A volume that comes back is read
 * again from the start.
 */
function observeVolume(evidence: Evidence, { volume, at }: EventOf<'volume-observed'>): Evidence {
  if (!volume.ok) return { ...evidence, volume };
  const observed: Evidence = { ...evidence, volume, storeId: volume.storeId };
  if (!mustReadAgain(evidence, observed)) return observed;
  const read: Evidence = { ...observed, snapshots: NO_EVIDENCE.snapshots };
  if (evidence.storeId === volume.storeId) return read;
  const message = `the volume holds store ${volume.storeId} now, it held store ${evidence.storeId} before; waiting for an attestation of the new one`;
  return {
    ...withoutAttestation(read),
    rejection: evidence.storeId === null ? null : { reason: 'AttestationInvalid', message, at },
  };
}

/** Whether the volume came back or was replaced, so that nothing read from it before still counts. */
export function mustReadAgain(before: Evidence, after: Evidence): boolean {
  return after.volume.ok && (!before.volume.ok || before.storeId !== after.storeId);
}

/** An attestation that no trusted key signed is void, and so is the version that it claimed. */
function observeKeys(evidence: Evidence, { keyIds, newest, at }: EventOf<'keys-observed'>): Evidence {
  if (evidence.newest === null || newest === null) return evidence;
  if (!newest.ok) {
    return {
      ...withoutAttestation(evidence),
      rejection: { ...newest.error, at },
      highestVersions: filterMap(evidence.highestVersions, (_, storeId) => storeId !== evidence.storeId),
    };
  }
  const keepsEffective =
    evidence.effective !== evidence.newest &&
    evidence.effective?.signedBy.some((keyId) => keyIds.includes(keyId)) === true;
  return {
    ...evidence,
    newest: newest.value,
    effective: keepsEffective ? evidence.effective : newest.value,
    isContiguous: keepsEffective ? evidence.isContiguous : true,
  };
}

function bindSnapshot(
  evidence: Evidence,
  { snapshotId, snapshot, damage }: EventOf<'snapshot-bound'>,
): Evidence {
  const rebind = (found: FoundDamage): FoundDamage => {
    const held = damage.get(found.report.blake3);
    const others = [...found.holders].filter(([id]) => id !== snapshotId);
    return { ...found, holders: new Map(held === undefined ? others : [...others, [snapshotId, held]]) };
  };
  return {
    ...evidence,
    snapshots: new Map(evidence.snapshots).set(snapshotId, snapshot),
    damage: new Map([...evidence.damage].map(([blake3, found]) => [blake3, rebind(found)])),
  };
}

function findDamage(evidence: Evidence, { found }: EventOf<'damage-found'>): Evidence {
  const damage = new Map<Blake3Hex, FoundDamage>(evidence.damage);
  const mayBeHeld = holderTest(evidence);
  for (const each of found) {
    const { report } = each;
    if (isNewDamage(damage, report) && mayBeHeld(each) && hasRoomFor(damage, each))
      damage.set(report.blake3, each);
  }
  return { ...evidence, damage };
}

/**
 * While the releases of the newest attestation are read, the previous one stays in effect as long as it makes a release
 * distributable. Once that ends, it is not used again.
 */
function releaseHold(evidence: Evidence, at: number): Evidence {
  const { effective, newest } = evidence;
  if (effective === newest) return evidence;
  if (effective !== null && newest !== null && isReading(evidence, newest)) {
    const isUsed = CHANNELS.some(
      (channel) =>
        attestationFor(evidence, channel) === effective && evaluate(evidence, { channel }, at).distributable,
    );
    if (isUsed) return evidence;
  }
  return { ...evidence, effective: newest, isContiguous: true };
}

function isReading({ snapshots }: Evidence, { statement }: VerifiedAttestation): boolean {
  return CHANNELS.some((channel) => {
    const release = statement[channel];
    return release?.result === 'PASSED' && !snapshots.has(release.snapshot_id);
  });
}

/** Drops snapshots that no attestation names, and damage that nothing holds once everything is read. */
function forgetUnwanted(before: Evidence, evidence: Evidence): Evidence {
  const { newest, effective } = evidence;
  const isSame =
    newest === before.newest && effective === before.effective && evidence.snapshots === before.snapshots;
  if (isSame) return evidence;
  const wanted = wantedSnapshots(evidence);
  const snapshots = filterMap(evidence.snapshots, (_, snapshotId) => wanted.has(snapshotId));
  const kept = { ...evidence, snapshots };
  return { ...kept, damage: filterMap(evidence.damage, holderTest(kept)) };
}

/** Makes the test whether a wanted release holds damaged bytes, or may hold them because it could not be read. */
function holderTest(evidence: Evidence): (found: FoundDamage) => boolean {
  const wanted = wantedSnapshots(evidence);
  // Before the first attestation nothing says which snapshots there are. One that authorizes none needs none.
  const isAllRead =
    evidence.newest !== null &&
    [...wanted].every((snapshotId) => evidence.snapshots.get(snapshotId)?.manifest === 'ok');
  const documents = wantedDocuments(evidence);
  return ({ report, holders }) =>
    !isAllRead || !wanted.isDisjointFrom(holders) || documents.has(report.blake3);
}

function withoutAttestation(evidence: Evidence): Evidence {
  return { ...evidence, newest: null, envelope: null, effective: null, isContiguous: true };
}

function rememberVersion(
  versions: ReadonlyMap<string, number>,
  storeId: string,
  version: number,
): ReadonlyMap<string, number> {
  const others = [...versions].filter(([id]) => id !== storeId).slice(1 - MAX_REMEMBERED_STORES);
  return new Map([...others, [storeId, version]]);
}

function filterMap<K, V>(map: ReadonlyMap<K, V>, isKept: (value: V, key: K) => boolean): ReadonlyMap<K, V> {
  let kept: Map<K, V> | null = null;
  for (const [key, value] of map) {
    if (isKept(value, key)) continue;
    kept ??= new Map(map);
    kept.delete(key);
  }
  return kept ?? map;
}
