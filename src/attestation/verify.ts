import { verify } from 'node:crypto';
import {
  ATTESTATION_PAYLOAD_TYPE,
  parseEnvelope,
  parseStatement,
  type Envelope,
} from '../contract/formats/attestation-format.ts';
import type { Refusal } from '../domain/verdict/attestation-acceptance.ts';
import type { VerifiedAttestation } from '../domain/verdict/attestation.ts';
import { failure, success, type Result } from '../domain/result.ts';
import { decodeBase64, preAuthenticationEncoding } from './dsse.ts';
import type { TrustedKey } from './keys.ts';
import { payloadSha256 } from './sign.ts';

/** Bytes of an Ed25519 signature. */
const SIGNATURE_BYTES = 64;
const KEY_ID = /^[0-9a-f]{64}$/;

/**
 * Verifies an envelope: size, form, payload type, at least one signature of a trusted key, and then, from exactly the
 * bytes that were verified, the statement. Whether it may replace the accepted one (store, version, times) is the rule
 * of `acceptAttestation`.
 *
 * @param bytes the envelope as received
 * @param trustedKeys each is tried on each signature: a `keyid` is only a hint and may be absent or wrong
 * @returns the statement with its digest and signers, or `AttestationInvalid` with what is wrong
 *
 * Source: DSSE v1.0.2, protocol.md, "Protocol" (steps of the verifier).
 */
export function verifyEnvelope(
  bytes: Uint8Array,
  trustedKeys: readonly TrustedKey[],
): Result<VerifiedAttestation, Refusal> {
  const envelope = parseEnvelope(bytes);
  if (!envelope.ok) return invalid(envelope.error);
  const { payloadType, signatures } = envelope.value;
  if (payloadType !== ATTESTATION_PAYLOAD_TYPE) {
    return invalid(`the payload type is ${JSON.stringify(payloadType)}, not "${ATTESTATION_PAYLOAD_TYPE}"`);
  }
  if (signatures.length === 0) return invalid('the envelope has no signature');
  const payload = decodeBase64(envelope.value.payload);
  if (payload === null) return invalid('the payload is not canonical base64');
  const signedBy = signers(preAuthenticationEncoding(payloadType, payload), signatures, trustedKeys);
  if (signedBy.length === 0) return invalid(explainSignatures(signatures, trustedKeys));
  const statement = parseStatement(payload);
  if (!statement.ok) return invalid(statement.error);
  return success({ statement: statement.value, payloadSha256: payloadSha256(payload), signedBy });
}

function signers(
  signed: Buffer,
  signatures: Envelope['signatures'],
  trustedKeys: readonly TrustedKey[],
): string[] {
  const decoded = signatures
    .map(({ sig }) => decodeBase64(sig))
    .filter((sig): sig is Buffer => sig?.length === SIGNATURE_BYTES);
  return trustedKeys
    .filter(({ publicKey }) => decoded.some((sig) => verify(null, signed, publicKey, sig)))
    .map(({ keyId }) => keyId);
}

function explainSignatures(signatures: Envelope['signatures'], trustedKeys: readonly TrustedKey[]): string {
  const claimed = signatures.map(({ keyid = '' }) => keyid);
  const known = trustedKeys.find(({ keyId }) => claimed.includes(keyId));
  if (known !== undefined) {
    return `the signature of the trusted key ${known.keyId} does not match the payload: it was changed or damaged`;
  }
  const names = claimed.map((keyId) => (KEY_ID.test(keyId) ? keyId : 'an unnamed key')).join(', ');
  const { length } = trustedKeys;
  const missing =
    length === 0
      ? 'and no key is trusted'
      : length === 1
        ? 'and not by the one trusted key'
        : `and by none of the ${length} trusted keys`;
  return `signed by ${names}, ${missing}; is the public key of the daemon configured?`;
}

function invalid(message: string): { readonly ok: false; readonly error: Refusal } {
  return failure({ reason: 'AttestationInvalid', message });
}
