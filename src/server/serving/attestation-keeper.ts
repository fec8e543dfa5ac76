import type { VerifiedAttestation } from '../../domain/verdict/attestation.ts';
import { acceptAttestation, type Refusal } from '../../domain/verdict/attestation-acceptance.ts';
import type { Result } from '../../domain/result.ts';
import type { AttestationRejection } from '../../domain/verdict/verdict.ts';

/** Stores whose highest version is remembered; a volume is rarely replaced. */
const MAX_REMEMBERED_STORES = 64;

/** What became of an envelope. */
export type KeeperOutcome = 'accepted' | 'unchanged' | 'refused';

/** Holds the newest attestation that this process accepted. Nothing of it outlives the process. */
export interface AttestationKeeper {
  /** The newest accepted one, or `null`. */
  accepted(): VerifiedAttestation | null;
  /** Highest version accepted for the store on the volume. */
  highestVersion(): number;
  /** Why the newest envelope was not accepted, or `null`. */
  rejection(): AttestationRejection | null;
  /**
   * Verifies an envelope and decides whether it replaces the accepted one. A refused one changes nothing but
   * the rejection.
   *
   * @param envelope bytes as received
   * @param nowMs the one instant of this decision, Unix milliseconds
   * @param volumeProblem why no store could be bound yet, should that be so
   */
  offer(envelope: Uint8Array, nowMs: number, volumeProblem: string): KeeperOutcome;
  /**
   * Says which store the volume holds now. Another store than before voids what was accepted: it speaks of other bytes.
   *
   * @returns whether it is another one
   */
  bindStore(storeId: string, nowMs: number): boolean;
  /**
   * Verifies what was accepted again, because other keys are trusted now. Where no trusted key signed it, it is void, and
   * with it the version that it claimed.
   */
  verifyAgain(nowMs: number): void;
}

/** What {@link createAttestationKeeper} needs. */
export interface AttestationKeeperOptions {
  readonly verify: (envelope: Uint8Array) => Result<VerifiedAttestation, Refusal>;
}

/** Makes a keeper that has accepted nothing yet. */
export function createAttestationKeeper({ verify }: AttestationKeeperOptions): AttestationKeeper {
  const highestByStore = new Map<string, number>();
  let storeId: string | null = null;
  let accepted: VerifiedAttestation | null = null;
  /** The bytes of the accepted one. */
  let envelope: Uint8Array | null = null;
  let rejection: AttestationRejection | null = null;

  const highestVersion = (): number => (storeId === null ? 0 : (highestByStore.get(storeId) ?? 0));

  const refuse = (refusal: Refusal, nowMs: number): KeeperOutcome => {
    const same = rejection?.reason === refusal.reason && rejection.message === refusal.message;
    if (!same) rejection = { ...refusal, at: nowMs };
    return 'refused';
  };

  return {
    accepted: () => accepted,
    highestVersion,
    rejection: () => rejection,
    offer: (offered, nowMs, volumeProblem) => {
      if (storeId === null) {
        return refuse({ reason: 'SnapshotMissing', message: volumeProblem }, nowMs);
      }
      const verified = verify(offered);
      if (!verified.ok) return refuse(verified.error, nowMs);
      const decision = acceptAttestation(
        verified.value,
        { storeId, accepted, highestVersion: highestVersion() },
        nowMs,
      );
      if (!decision.ok) return refuse(decision.error, nowMs);
      rejection = null;
      if (!decision.value.isNew) return 'unchanged';
      accepted = verified.value;
      envelope = offered;
      highestByStore.delete(storeId);
      highestByStore.set(storeId, verified.value.statement.version);
      const oldest = highestByStore.keys().next();
      if (highestByStore.size > MAX_REMEMBERED_STORES && oldest.done !== true)
        highestByStore.delete(oldest.value);
      return 'accepted';
    },
    bindStore: (next, nowMs) => {
      if (storeId === next) return false;
      const replaced = storeId;
      storeId = next;
      rejection =
        replaced === null
          ? null
          : {
              reason: 'AttestationInvalid',
              message: `the volume holds store ${next} now, it held store ${replaced} before; waiting for an attestation of the new one`,
              at: nowMs,
            };
      accepted = null;
      envelope = null;
      return true;
    },
    verifyAgain: (nowMs) => {
      if (envelope === null) return;
      const verified = verify(envelope);
      if (verified.ok) {
        accepted = verified.value;
        return;
      }
      rejection = { ...verified.error, at: nowMs };
      accepted = null;
      envelope = null;
      // Whoever has the key may have claimed any version.
      if (storeId !== null) highestByStore.delete(storeId);
    },
  };
}
