import type { Attestor } from '../attest/attestor.ts';

/** Attests after damage was found or repaired, and remembers when that failed. */
export interface DamageAttestation {
  /** Whether the last attempt failed and none succeeded since. */
  isOwed(): boolean;
  /** @throws what the attestor throws */
  issue(cause: string): Promise<void>;
}

/** Creates it; nothing is owed yet. */
export function createDamageAttestation(attestor: Pick<Attestor, 'issue'>): DamageAttestation {
  let isOwed = false;
  return {
    isOwed: () => isOwed,
    issue: async (cause) => {
      try {
        await attestor.issue(cause);
        isOwed = false;
      } catch (error) {
        isOwed = true;
        throw error;
      }
    },
  };
}
