import type { LoadOutcome } from './load-snapshot.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import { MANIFEST_DESTINATION } from '../../contract/formats/damage-report.ts';
import { manifestDigestOf, type Blake3Hex, type SnapshotId } from '../../domain/release/digest.ts';
import type { DamageReport, Evidence } from '../../domain/verdict/evidence.ts';
import type { EvidenceEvent } from '../../domain/verdict/evidence-event.ts';
import { isSameOutcome, type Verdict } from '../../domain/verdict/verdict.ts';
import type { AcceptedEnvelope, DamageChange, ServingControl } from './serving.ts';
import { firstOf } from './snapshot-trouble.ts';

interface ChangeReports {
  readonly watchDamage: ServingControl['watchDamage'];
  readonly watchManifests: ServingControl['watchManifests'];
  readonly watchAttestation: ServingControl['watchAttestation'];
  report(before: Evidence, event: EvidenceEvent, after: Evidence): void;
  /**
   * Reports a manifest that cannot be read, or the first few objects that were missing when it was read. Only the loader
   * detects them.
   */
  announceLoaded(snapshotId: SnapshotId, outcome: LoadOutcome): void;
}

/**
 * Makes reports without listeners.
 *
 * @param onVerdict called once for every change of the outcome of a channel's verdict
 */
export function createChangeReports(
  onVerdict: (verdict: Verdict, previous: Verdict | null) => void,
): ChangeReports {
  const damageListeners: ((change: DamageChange) => void)[] = [];
  const manifestListeners: ((change: DamageChange) => void)[] = [];
  /** The faults of manifests that the listeners know. A manifest in trouble is read every few seconds. */
  const manifestFaults = new Map<SnapshotId, DamageReport['kind']>();
  const attestationListeners: ((accepted: AcceptedEnvelope) => void)[] = [];
  const reportDamage = (blake3: Blake3Hex, report: DamageReport | null): void => {
    for (const listener of damageListeners) listener({ blake3, report });
  };
  const announceManifest = (snapshotId: SnapshotId, outcome: LoadOutcome): void => {
    const kind = outcome.ok ? null : outcome.manifest;
    const blake3 = manifestDigestOf(snapshotId);
    if (blake3 === null || kind === (manifestFaults.get(snapshotId) ?? null)) return;
    if (kind === null) manifestFaults.delete(snapshotId);
    else manifestFaults.set(snapshotId, kind);
    const report = outcome.ok
      ? null
      : { destination: MANIFEST_DESTINATION, blake3, kind: outcome.manifest, message: outcome.message };
    for (const listener of manifestListeners) listener({ blake3, report });
  };
  return {
    watchManifests: (listener) => {
      manifestListeners.push(listener);
    },
    watchDamage: (listener) => {
      damageListeners.push(listener);
    },
    watchAttestation: (listener) => {
      attestationListeners.push(listener);
    },
    report: (before, event, after) => {
      for (const snapshotId of manifestFaults.keys()) {
        if (before.snapshots.has(snapshotId) && !after.snapshots.has(snapshotId))
          manifestFaults.delete(snapshotId);
      }
      for (const blake3 of touchedDigests(before, event, after)) {
        const report = after.damage.get(blake3)?.report ?? null;
        if (report !== (before.damage.get(blake3)?.report ?? null)) reportDamage(blake3, report);
      }
      const { envelope, newest } = after;
      if (envelope !== null && newest !== null && envelope !== before.envelope) {
        const { store_id: storeId, version } = newest.statement;
        for (const listener of attestationListeners) listener({ envelope, storeId, version });
      }
      for (const channel of CHANNELS) {
        const [verdict, previous] = [after.verdicts[channel], before.verdicts[channel]];
        if (verdict !== null && !isSameOutcome(verdict, previous)) onVerdict(verdict, previous);
      }
    },
    announceLoaded: (snapshotId, outcome) => {
      announceManifest(snapshotId, outcome);
      if (!outcome.ok) return;
      for (const position of firstOf(outcome.missing)) {
        const { destination, blake3 } = outcome.index.entry(position);
        const message = 'the object is not on the volume';
        reportDamage(blake3, { destination, blake3, kind: 'missing', message });
      }
    },
  };
}

function touchedDigests(before: Evidence, event: EvidenceEvent, after: Evidence): Iterable<Blake3Hex> {
  if (event.type === 'damage-found') return event.found.map(({ report }) => report.blake3);
  if (before.damage === after.damage) return [];
  return new Set([...before.damage.keys(), ...after.damage.keys()]);
}
