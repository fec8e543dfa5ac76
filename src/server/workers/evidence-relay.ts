import { MAX_DAMAGE, type DamageReport } from '../../domain/verdict/evidence.ts';
import type { PrimaryMessage, SharedEnvelope, SharedMessage } from './worker-messages.ts';

/** Passes the messages of one worker to all others, and keeps the evidence for those that start later. */
export class EvidenceRelay<W> {
  readonly #sendToOthers: (from: W, message: PrimaryMessage) => void;
  readonly #damage = new Map<string, DamageReport>();
  #attestation: SharedEnvelope | null = null;

  constructor(sendToOthers: (from: W, message: PrimaryMessage) => void) {
    this.#sendToOthers = sendToOthers;
  }

  take(from: W, message: SharedMessage): void {
    if (this.#keep(message)) this.#sendToOthers(from, message);
  }

  /** The evidence for a worker that starts now. */
  evidence(): { readonly damage: readonly DamageReport[]; readonly attestation: SharedEnvelope | null } {
    return { damage: [...this.#damage.values()], attestation: this.#attestation };
  }

  #keep(message: SharedMessage): boolean {
    switch (message.kind) {
      case 'slipway:minute':
        return true;
      case 'slipway:damage': {
        const { blake3, report } = message.change;
        if (report === null) this.#damage.delete(blake3);
        else if (this.#damage.size < MAX_DAMAGE || this.#damage.has(blake3)) this.#damage.set(blake3, report);
        return true;
      }
      case 'slipway:attestation': {
        const { attestation: accepted } = message;
        const known = this.#attestation;
        if (known?.storeId === accepted.storeId && known.version >= accepted.version) return false;
        this.#attestation = accepted;
        return true;
      }
    }
  }
}
