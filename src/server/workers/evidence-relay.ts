import { MAX_DAMAGE, type DamageReport } from '../../domain/verdict/evidence.ts';
import type { DamageChange } from '../serving/serving.ts';
import type { PrimaryMessage, SharedEnvelope } from './worker-messages.ts';

/** Passes evidence of one worker to all others, and keeps it for those that start later. */
export interface EvidenceRelay<W> {
  takeDamage(from: W, change: DamageChange): void;
  takeAttestation(from: W, accepted: SharedEnvelope): void;
  /** The evidence for a worker that starts now. */
  evidence(): { readonly damage: readonly DamageReport[]; readonly attestation: SharedEnvelope | null };
}

/** Makes a relay without evidence. */
export function createEvidenceRelay<W>(
  sendToOthers: (from: W, message: PrimaryMessage) => void,
): EvidenceRelay<W> {
  const damage = new Map<string, DamageReport>();
  let attestation: SharedEnvelope | null = null;
  return {
    takeDamage: (from, change) => {
      const { blake3, report } = change;
      if (report === null) damage.delete(blake3);
      else if (damage.size < MAX_DAMAGE || damage.has(blake3)) damage.set(blake3, report);
      sendToOthers(from, { kind: 'slipway:damage', change });
    },
    takeAttestation: (from, accepted) => {
      if (attestation?.storeId === accepted.storeId && attestation.version >= accepted.version) return;
      attestation = accepted;
      sendToOthers(from, { kind: 'slipway:attestation', attestation: accepted });
    },
    evidence: () => ({ damage: [...damage.values()], attestation }),
  };
}
