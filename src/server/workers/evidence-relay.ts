import { MAX_DAMAGE, type DamageReport } from '../../domain/verdict/evidence.ts';
import type { PrimaryMessage, SharedEnvelope, SharedMessage } from './worker-messages.ts';

/** Passes the messages of one worker to all others, and keeps the evidence for those that start later. */
export interface EvidenceRelay<W> {
  take(from: W, message: SharedMessage): void;
  /** The evidence for a worker that starts now. */
  evidence(): { readonly damage: readonly DamageReport[]; readonly attestation: SharedEnvelope | null };
}

/** Makes a relay without evidence. */
export function createEvidenceRelay<W>(
  sendToOthers: (from: W, message: PrimaryMessage) => void,
): EvidenceRelay<W> {
  const damage = new Map<string, DamageReport>();
  let attestation: SharedEnvelope | null = null;
  const keep = (message: SharedMessage): boolean => {
    switch (message.kind) {
      case 'slipway:minute':
        return true;
      case 'slipway:damage': {
        const { blake3, report } = message.change;
        if (report === null) damage.delete(blake3);
        else if (damage.size < MAX_DAMAGE || damage.has(blake3)) damage.set(blake3, report);
        return true;
      }
      case 'slipway:attestation': {
        const accepted = message.attestation;
        if (attestation?.storeId === accepted.storeId && attestation.version >= accepted.version)
          return false;
        attestation = accepted;
        return true;
      }
    }
  };
  return {
    take: (from, message) => {
      if (keep(message)) sendToOthers(from, message);
    },
    evidence: () => ({ damage: [...damage.values()], attestation }),
  };
}
