import { instant } from '../domain/instant.ts';
import { verifyEnvelope } from '../attestation/verify.ts';
import type { TrustedKey } from '../attestation/keys.ts';
import { CLOCK_SKEW_SECONDS, type VerifiedAttestation } from '../domain/verdict/attestation.ts';
import { failure, success, type Result } from '../domain/result.ts';
import { MirrorError } from './mirror-error.ts';

/** The attestation that was accepted last from a store; times in Unix seconds. */
export interface AcceptedOrigin {
  readonly storeId: string;
  readonly version: number;
  readonly issuedAt: number;
  /** SHA-256 of the payload, lower-case hexadecimal. */
  readonly payloadSha256: string;
}

export interface OriginMemory {
  /** The newest attestation accepted of this store, or `null`. */
  of(storeId: string): AcceptedOrigin | null;
  last(): AcceptedOrigin | null;
}

export const NO_ORIGIN_MEMORY: OriginMemory = { of: () => null, last: () => null };

/**
 * Decides whether an envelope of an origin may be followed: a trusted key signed it, it is valid now, and it is not older
 * than the one accepted before. Versions count within one store. An origin that was rebuilt has another store and begins to count again, so
 * between stores the instant of signing decides.
 *
 * @param envelope as received
 * @param nowMs the one instant of this decision, Unix milliseconds
 * @param options.mayBeExpired whether the envelope was carried, which takes longer than it is valid
 * @returns the statement and whether it is another one than the one accepted last; or why it is refused
 *
 * Source: The Update Framework specification, section 5.4 (rollback and freeze checks).
 */
export function acceptOrigin(
  envelope: Uint8Array,
  trustedKeys: readonly TrustedKey[],
  memory: OriginMemory,
  nowMs: number,
  { mayBeExpired = false }: { readonly mayBeExpired?: boolean } = {},
): Result<{ readonly verified: VerifiedAttestation; readonly isNew: boolean }, MirrorError> {
  const verified = verifyEnvelope(envelope, trustedKeys);
  if (!verified.ok) return failure(new MirrorError('origin_untrusted', verified.error.message));
  const problem = timeProblem(verified.value, nowMs, mayBeExpired) ?? stepBack(verified.value, memory);
  if (problem !== null) return failure(problem);
  const { store_id: storeId, version } = verified.value.statement;
  const last = memory.last();
  const isNew = last?.storeId !== storeId || last.version !== version;
  return success({ verified: verified.value, isNew });
}

function timeProblem(
  { statement }: VerifiedAttestation,
  nowMs: number,
  mayBeExpired: boolean,
): MirrorError | null {
  const { version, issued_at: issuedAt, expires_at: expiresAt } = statement;
  if (issuedAt * 1000 > nowMs + CLOCK_SKEW_SECONDS * 1000) {
    return new MirrorError(
      'origin_in_future',
      `attestation version ${version} of the origin is dated ${instant(issuedAt)}, in the future; compare the clocks`,
      { retryable: true },
    );
  }
  if (mayBeExpired || expiresAt * 1000 > nowMs) return null;
  return new MirrorError(
    'origin_expired',
    `attestation version ${version} of the origin expired at ${instant(expiresAt)}; the daemon of the origin renews none`,
    { retryable: true },
  );
}

function stepBack(
  { statement, payloadSha256 }: VerifiedAttestation,
  memory: OriginMemory,
): MirrorError | null {
  const { version, store_id: storeId, issued_at: issuedAt } = statement;
  const held = memory.of(storeId);
  if (held !== null && version < held.version) {
    return new MirrorError(
      'origin_rolled_back',
      `attestation version ${version} of the origin is older than version ${held.version}, which was accepted before`,
    );
  }
  if (held?.version === version && held.payloadSha256 !== payloadSha256) {
    return new MirrorError(
      'origin_forked',
      `two different attestations of the origin carry version ${version}; the first one is kept`,
    );
  }
  const last = memory.last();
  if (last !== null && last.storeId !== storeId && issuedAt < last.issuedAt) {
    return new MirrorError(
      'origin_rolled_back',
      `the origin shows store ${storeId} as of ${instant(issuedAt)}, older than store ${last.storeId} as of ` +
        `${instant(last.issuedAt)}, which was accepted before`,
    );
  }
  return null;
}
