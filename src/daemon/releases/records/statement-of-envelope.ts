import { decodeBase64 } from '../../../attestation/dsse.ts';
import { parseEnvelope, parseStatement } from '../../../contract/formats/attestation-format.ts';
import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';

/** The statement in an envelope, with any signature; `null` for a damaged envelope. */
export function statementOfEnvelope(bytes: Uint8Array): AttestationStatement | null {
  const envelope = parseEnvelope(Buffer.from(bytes));
  const payload = envelope.ok ? decodeBase64(envelope.value.payload) : null;
  const statement = payload === null ? null : parseStatement(payload);
  return statement?.ok === true ? statement.value : null;
}
