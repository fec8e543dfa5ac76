import { CHANNELS } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { DamageReport, Evidence } from '../../domain/verdict/evidence.ts';
import { isSameOutcome, type Verdict } from '../../domain/verdict/verdict.ts';
import type { AcceptedEnvelope, DamageChange, ServingControl } from './serving.ts';
import type { LoadOutcome } from './snapshot-binder.ts';
import { firstOf } from './snapshot-trouble.ts';

/** Reports changes of the evidence to those who watch. */
export interface ChangeReports extends Pick<ServingControl, 'watchDamage' | 'watchAttestation'> {
  /** Reports everything that two consecutive pieces of evidence differ in. */
  report(before: Evidence, after: Evidence): void;
  /** Reports the first few objects that were missing when a snapshot was read. Only the reader can see them. */
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
    report: (before, after) => {
      if (before.damage !== after.damage) {
        for (const [blake3, { report }] of after.damage)
          if (before.damage.get(blake3)?.report !== report) reportDamage(blake3, report);
        for (const blake3 of before.damage.keys()) if (!after.damage.has(blake3)) reportDamage(blake3, null);
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
