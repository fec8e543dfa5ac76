import type { Attestor } from '../attest/attestor.ts';

/** Attests after damage was found or repaired, and remembers when that failed. */
export interface DamageAttestation {
  /** Whether the last attempt failed and none succeeded since. */
  isPending(): boolean;
  /** @throws what the attestor throws */
  issue(cause: string): Promise<void>;
}

/** Creates it; no attestation is pending yet. */
export function createDamageAttestation(attestor: Pick<Attestor, 'issue'>): DamageAttestation {
  let isPending = false;
  return {
    isPending: () => isPending,
    issue: async (cause) => {
      try {
        await attestor.issue(cause);
        isPending = false;
      } catch (error) {
        isPending = true;
        throw error;
      }
    },
  };
}
