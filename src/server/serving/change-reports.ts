import type { LoadOutcome } from './load-snapshot.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { DamageReport, Evidence } from '../../domain/verdict/evidence.ts';
import type { EvidenceEvent } from '../../domain/verdict/evidence-event.ts';
import { isSameOutcome, type Verdict } from '../../domain/verdict/verdict.ts';
import type { AcceptedEnvelope, DamageChange, ServingControl } from './serving.ts';
import { firstOf } from './snapshot-trouble.ts';

/** Reports changes of the evidence to the listeners. */
export interface ChangeReports extends Pick<ServingControl, 'watchDamage' | 'watchAttestation'> {
  /** Reports every difference between two consecutive pieces of evidence. */
  report(before: Evidence, event: EvidenceEvent, after: Evidence): void;
  /** Reports the first few objects that were missing when a snapshot was read. Only the loader detects them. */
  announceMissing(outcome: LoadOutcome): void;
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
  const attestationListeners: ((accepted: AcceptedEnvelope) => void)[] = [];
  const reportDamage = (blake3: Blake3Hex, report: DamageReport | null): void => {
    for (const listener of damageListeners) listener({ blake3, report });
  };
  return {
    watchDamage: (listener) => {
      damageListeners.push(listener);
    },
    watchAttestation: (listener) => {
      attestationListeners.push(listener);
    },
    report: (before, event, after) => {
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
    announceMissing: (outcome) => {
      if (!outcome.ok) return;
      for (const position of firstOf(outcome.missing)) {
        const { destination, blake3 } = outcome.index.entry(position);
        const message = 'the object is not on the volume';
        reportDamage(blake3, { destination, blake3, kind: 'missing', message });
      }
    },
  };
}

/** The digests whose damage an event may have changed. */
function touchedDigests(before: Evidence, event: EvidenceEvent, after: Evidence): Iterable<Blake3Hex> {
  if (event.type === 'damage-found') return event.found.map(({ report }) => report.blake3);
  if (before.damage === after.damage) return [];
  return new Set([...before.damage.keys(), ...after.damage.keys()]);
}
