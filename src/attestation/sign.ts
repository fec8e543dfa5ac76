import { createHash, sign } from 'node:crypto';
import {
  ATTESTATION_PAYLOAD_TYPE,
  ENVELOPE_MAX_BYTES,
  ENVELOPE_MAX_SIGNATURES,
  renderStatement,
} from '../contract/formats/attestation-format.ts';
import type { AttestationStatement } from '../domain/verdict/attestation.ts';
import type { SnapshotId } from '../domain/release/digest.ts';
import { preAuthenticationEncoding, renderEnvelope } from './dsse.ts';
import type { SigningKey } from './keys.ts';

/**
 * Signs a statement with every key, so that during a rotation a verifier that trusts either key accepts it.
 *
 * @param manifestSha256 SHA-256 (64 hexadecimal digits) of the manifest of every authorized release, by snapshot id
 * @param signingKeys one to eight Ed25519 keys
 * @returns the bytes of the DSSE envelope
 * @throws Error when the statement breaks a rule that a verifier checks, or there are no or too many keys
 *
 * Source: DSSE v1.0.2, protocol.md; RFC 8032 (Ed25519).
 */
export function signStatement(
  statement: AttestationStatement,
  signingKeys: readonly SigningKey[],
  manifestSha256: ReadonlyMap<SnapshotId, string>,
): Buffer {
  if (signingKeys.length === 0 || signingKeys.length > ENVELOPE_MAX_SIGNATURES) {
    throw new Error(
      `an attestation is signed with 1 to ${ENVELOPE_MAX_SIGNATURES} keys, not ${signingKeys.length}`,
    );
  }
  const payload = renderStatement(statement, manifestSha256);
  const signed = preAuthenticationEncoding(ATTESTATION_PAYLOAD_TYPE, payload);
  const envelope = renderEnvelope(
    ATTESTATION_PAYLOAD_TYPE,
    payload,
    signingKeys.map(({ keyId, privateKey }) => ({ keyid: keyId, sig: sign(null, signed, privateKey) })),
  );
  if (envelope.length > ENVELOPE_MAX_BYTES) {
    throw new Error(`the envelope would have ${envelope.length} bytes, more than ${ENVELOPE_MAX_BYTES}`);
  }
  return envelope;
}

/** SHA-256 of a payload, lower-case hexadecimal: what the next statement names as `previous_payload_sha256`. */
export function payloadSha256(payload: Uint8Array): string {
  return createHash('sha256').update(payload).digest('hex');
}
