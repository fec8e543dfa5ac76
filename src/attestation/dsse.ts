import type { Envelope } from '../contract/formats/attestation-format.ts';

const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/;
const URL_SAFE = /^[A-Za-z0-9_-]*={0,2}$/;

/**
 * The bytes that a signature covers, so that a payload can never be mistaken for one of another type.
 *
 * `PAE(type, body) = "DSSEv1" SP LEN(type) SP type SP LEN(body) SP body`, lengths in bytes as ASCII decimals.
 *
 * Source: DSSE v1.0.2, protocol.md, "Signature Definition".
 */
export function preAuthenticationEncoding(payloadType: string, payload: Uint8Array): Buffer {
  const type = Buffer.from(payloadType);
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${type.length} `),
    type,
    Buffer.from(` ${payload.length} `),
    payload,
  ]);
}

/**
 * Decodes base64, standard or URL-safe, padded or not. Only the one canonical spelling of each byte sequence in its
 * alphabet is accepted, so that nobody can change an envelope without changing what it says.
 *
 * @returns `null` for anything else
 *
 * Source: DSSE v1.0.2, envelope.md ("Either standard or URL-safe encoding is allowed"); RFC 4648, section 3.5.
 */
export function decodeBase64(text: string): Buffer | null {
  if (!STANDARD.test(text) && !URL_SAFE.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  const padded = bytes.toString('base64');
  const canonical = URL_SAFE.test(text) ? padded.replaceAll('+', '-').replaceAll('/', '_') : padded;
  return text === canonical || text === canonical.replace(/=+$/, '') ? bytes : null;
}

/** Renders an envelope; the same one always gives the same bytes. */
export function renderEnvelope(
  payloadType: string,
  payload: Uint8Array,
  signatures: readonly { readonly keyid: string; readonly sig: Uint8Array }[],
): Buffer {
  const envelope: Envelope = {
    payloadType,
    payload: Buffer.from(payload).toString('base64'),
    signatures: signatures.map(({ keyid, sig }) => ({ keyid, sig: Buffer.from(sig).toString('base64') })),
  };
  return Buffer.from(JSON.stringify(envelope));
}
