import { sign } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64, preAuthenticationEncoding, renderEnvelope } from '../../../src/attestation/dsse.ts';
import type { SigningKey } from '../../../src/attestation/keys.ts';
import { payloadSha256, signStatement } from '../../../src/attestation/sign.ts';
import { verifyEnvelope } from '../../../src/attestation/verify.ts';
import {
  ATTESTATION_PAYLOAD_TYPE,
  ENVELOPE_MAX_BYTES,
  renderStatement,
} from '../../../src/contract/formats/attestation-format.ts';
import {
  createKeyPair,
  SAMPLE_MANIFEST_SHA256,
  sampleRelease,
  sampleStatement,
} from '../../support/attestations.ts';

describe('the parts of an envelope', () => {
  describe('preAuthenticationEncoding', () => {
    it('gives the test vector of the specification', () => {
      const encoded = preAuthenticationEncoding('http://example.com/HelloWorld', Buffer.from('hello world'));
      expect(encoded.toString()).toBe('DSSEv1 29 http://example.com/HelloWorld 11 hello world');
    });

    it('counts bytes, not characters', () => {
      expect(preAuthenticationEncoding('日', Buffer.from('é')).toString()).toBe('DSSEv1 3 日 2 é');
    });

    it('never encodes two inputs the same', () => {
      const input = fc.tuple(fc.string(), fc.uint8Array());
      fc.assert(
        fc.property(input, input, ([type, body], [otherType, otherBody]) => {
          const same = type === otherType && Buffer.from(body).equals(otherBody);
          const left = preAuthenticationEncoding(type, body);
          expect(left.equals(preAuthenticationEncoding(otherType, otherBody))).toBe(same);
        }),
      );
    });
  });

  describe('decodeBase64', () => {
    it('reads every encoding, standard or URL-safe, padded or not', () => {
      fc.assert(
        fc.property(fc.uint8Array(), (bytes) => {
          const standard = Buffer.from(bytes).toString('base64');
          const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_');
          for (const text of [standard, urlSafe, standard.replace(/=+$/, ''), urlSafe.replace(/=+$/, '')]) {
            expect(decodeBase64(text)).toEqual(Buffer.from(bytes));
          }
        }),
      );
    });

    it.each(['AB', 'AA=', 'AAA==', 'A', '+_AA', 'AA AA', 'AAAA\n', 'AA==AA==', '=', 'ÄÄÄÄ'])(
      'refuses %j',
      (text) => {
        expect(decodeBase64(text)).toBeNull();
      },
    );
  });
});

const KEY = createKeyPair();
const OTHER = createKeyPair();
const STATEMENT = sampleStatement();
const PAYLOAD = renderStatement(STATEMENT, SAMPLE_MANIFEST_SHA256);
const ENVELOPE = signStatement(STATEMENT, [KEY.signing], SAMPLE_MANIFEST_SHA256);

interface RawEnvelope {
  payloadType: string;
  payload: string;
  signatures: Array<{ keyid?: string; sig: string }>;
}

function rawEnvelope(): RawEnvelope {
  return JSON.parse(ENVELOPE.toString()) as RawEnvelope;
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Signs any payload, as a faulty daemon would. */
function signPayload(
  payload: string | Buffer,
  type = ATTESTATION_PAYLOAD_TYPE,
  key: SigningKey = KEY.signing,
): Buffer {
  const bytes = Buffer.from(payload);
  const sig = sign(null, preAuthenticationEncoding(type, bytes), key.privateKey);
  return renderEnvelope(type, bytes, [{ keyid: key.keyId, sig }]);
}

/** The message of a refusal. */
function refusal(bytes: Uint8Array, keys = [KEY.trusted]): string {
  const verified = verifyEnvelope(bytes, keys);
  if (verified.ok) throw new Error('it was accepted');
  expect(verified.error.reason).toBe('AttestationInvalid');
  return verified.error.message;
}

describe('a signed envelope', () => {
  describe('verifyEnvelope', () => {
    it('returns the signed statement, its digest and the signers', () => {
      expect(verifyEnvelope(ENVELOPE, [OTHER.trusted, KEY.trusted])).toEqual({
        ok: true,
        value: {
          statement: STATEMENT,
          payloadSha256: payloadSha256(PAYLOAD),
          signedBy: [KEY.trusted.keyId],
        },
      });
    });

    it('accepts either key, or both, during a rotation', () => {
      const both = signStatement(STATEMENT, [KEY.signing, OTHER.signing], SAMPLE_MANIFEST_SHA256);
      const signers = (keys: Array<typeof KEY.trusted>) => {
        const verified = verifyEnvelope(both, keys);
        return verified.ok ? verified.value.signedBy : verified.error;
      };
      expect(signers([KEY.trusted])).toEqual([KEY.trusted.keyId]);
      expect(signers([OTHER.trusted])).toEqual([OTHER.trusted.keyId]);
      expect(signers([KEY.trusted, OTHER.trusted])).toEqual([KEY.trusted.keyId, OTHER.trusted.keyId]);
    });

    it.each([undefined, '', 'f'.repeat(64), 'no id at all'])('treats a keyid of %j as a hint', (keyid) => {
      const { payloadType, payload, signatures } = rawEnvelope();
      const { sig } = signatures[0]!;
      const hinted = bytesOf({
        payloadType,
        payload,
        signatures: [keyid === undefined ? { sig } : { keyid, sig }],
      });
      expect(verifyEnvelope(hinted, [OTHER.trusted, KEY.trusted]).ok).toBe(true);
    });

    it('reads URL-safe base64 without padding', () => {
      const urlSafe = (text: string): string =>
        text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
      const { payloadType, payload, signatures } = rawEnvelope();
      const envelope = {
        payloadType,
        payload: urlSafe(payload),
        signatures: [{ sig: urlSafe(signatures[0]!.sig) }],
      };
      expect(verifyEnvelope(bytesOf(envelope), [KEY.trusted]).ok).toBe(true);
    });

    it('ignores unknown fields and signatures that are not Ed25519', () => {
      const envelope = rawEnvelope();
      const signatures = [{ sig: 'AAAA', future: 1 }, ...envelope.signatures, { sig: '!' }];
      expect(verifyEnvelope(bytesOf({ ...envelope, signatures, future: true }), [KEY.trusted]).ok).toBe(true);
    });

    it('refuses any change of any byte of payload or signature', () => {
      const { payloadType, payload, signatures } = rawEnvelope();
      const body = Buffer.from(payload, 'base64');
      const sig = Buffer.from(signatures[0]!.sig, 'base64');
      const changed = (bytes: Buffer, at: number, mask: number): Buffer => {
        const copy = Buffer.from(bytes);
        copy[at] = copy[at]! ^ mask;
        return copy;
      };
      fc.assert(
        fc.property(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
          const forged = renderEnvelope(payloadType, changed(body, at, mask), [
            { keyid: KEY.trusted.keyId, sig },
          ]);
          expect(refusal(forged)).toMatch(/does not match the payload/);
        }),
        { numRuns: 300 },
      );
      for (let at = 0; at < sig.length; at += 1) {
        const forged = renderEnvelope(payloadType, body, [
          { keyid: KEY.trusted.keyId, sig: changed(sig, at, 1 << (at % 8)) },
        ]);
        expect(refusal(forged)).toMatch(/does not match the payload/);
      }
    });

    it('never throws, whatever the bytes', () => {
      const text = ENVELOPE.toString();
      fc.assert(
        fc.property(
          fc.oneof(
            fc.uint8Array({ maxLength: 300 }),
            fc.json().map((json) => Buffer.from(json)),
            fc
              .tuple(fc.nat(text.length), fc.string({ maxLength: 4 }))
              .map(([at, insert]) =>
                Buffer.from(text.slice(0, at) + insert + text.slice(at + insert.length)),
              ),
          ),
          (bytes) => {
            const verified = verifyEnvelope(bytes, [KEY.trusted]);
            // An accepted envelope says exactly what was signed.
            if (verified.ok) expect(verified.value.statement).toEqual(STATEMENT);
          },
        ),
        { numRuns: 500 },
      );
    });

    it('refuses malformed envelopes', () => {
      const good = rawEnvelope();
      expect(refusal(Buffer.alloc(ENVELOPE_MAX_BYTES + 1, 32))).toMatch(
        /131073 bytes, more than the 131072 allowed/,
      );
      expect(refusal(Buffer.from('<html>'))).toMatch(/envelope is malformed: .*not JSON/);
      expect(refusal(Buffer.from([0xff, 0xfe]))).toMatch(/not UTF-8/);
      expect(refusal(Buffer.concat([Buffer.from('\ufeff'), ENVELOPE]))).toMatch(/not JSON/);
      expect(refusal(bytesOf([]))).toMatch(/envelope is malformed/);
      expect(refusal(bytesOf({ ...good, payload: undefined }))).toMatch(/payload: /);
      expect(refusal(bytesOf({ ...good, payload: 'AB' }))).toMatch(/not canonical base64/);
      expect(refusal(bytesOf({ ...good, signatures: [] }))).toBe('the envelope has no signature');
      expect(
        refusal(bytesOf({ ...good, signatures: Array.from({ length: 9 }, () => good.signatures[0]) })),
      ).toMatch(/signatures: /);
      expect(refusal(Buffer.from(ENVELOPE.toString().replace('{', '{"payload":"AAAA",')))).toMatch(
        /appears twice/,
      );
    });

    it('refuses another payload type, even one that was really signed', () => {
      expect(refusal(signPayload(PAYLOAD, 'application/json'))).toMatch(
        /payload type is "application\/json"/,
      );
      const relabelled = { ...rawEnvelope(), payloadType: 'application/vnd.in-toto+json ' };
      expect(refusal(bytesOf(relabelled))).toMatch(/payload type/);
    });

    it('names the keys when none of them is trusted', () => {
      expect(refusal(ENVELOPE, [OTHER.trusted])).toBe(
        `signed by ${KEY.trusted.keyId}, and not by the one trusted key; is the public key of the daemon configured?`,
      );
      expect(refusal(ENVELOPE, [])).toMatch(/, and no key is trusted;/);
      const evil = { ...rawEnvelope(), signatures: [{ keyid: 'evil\n\u001b[2J', sig: 'AAAA' }] };
      expect(refusal(bytesOf(evil))).toMatch(/^signed by an unnamed key, /);
    });

    it('refuses payloads that were signed but are malformed', () => {
      const text = PAYLOAD.toString();
      const edited = (from: string, to: string): string => {
        expect(text).toContain(from);
        return refusal(signPayload(text.replace(from, to)));
      };
      expect(refusal(signPayload('nonsense'))).toMatch(/payload is malformed: .*not JSON/);
      expect(edited('"version":1042', '"version":9007199254740993')).toMatch(/predicate\.version/);
      expect(edited('"version":1042', '"version":1.5')).toMatch(/predicate\.version/);
      expect(edited('"version":1042', '"version":1042,"version":1043')).toMatch(/"version" appears twice/);
      expect(edited('"expires_at":1763683800', '"expires_at":1763683200')).toMatch(
        /expires_at must be later/,
      );
      expect(edited('"expires_at":1763683800', '"expires_at":99999999999999')).toMatch(
        /predicate\.expires_at/,
      );
      expect(edited('Statement/v1', 'Statement/v0.1')).toMatch(/_type/);
      expect(edited('distribution/v1', 'distribution/v2')).toMatch(/predicateType/);
      expect(edited('"base_release_id":"r90_one"', '"base":"r90_one"')).toMatch(/base_release_id/);
      expect(edited('"release_id":"r90_one"', '"release_id":"../r90"')).toMatch(
        /predicate\.official\.release_id/,
      );
    });

    it('refuses subjects that are not exactly the authorized releases', () => {
      const withSubject = (change: (subject: unknown[]) => unknown[]): string => {
        const statement = JSON.parse(PAYLOAD.toString()) as { subject: unknown[] };
        return refusal(signPayload(JSON.stringify({ ...statement, subject: change(statement.subject) })));
      };
      const official = {
        name: 'official/r90_one',
        digest: { blake3: 'a'.repeat(64), sha256: 'a'.repeat(64) },
      };
      expect(withSubject(([, ...rest]) => rest)).toMatch(/official\/r90_one is not among the subjects/);
      expect(withSubject((all) => [...all, official])).toMatch(
        /"official\/r90_one" is not an authorized release, or is repeated/,
      );
      expect(withSubject((all) => [...all, { ...official, name: 'official/other' }])).toMatch(
        /"official\/other"/,
      );
      expect(
        withSubject(([, ...rest]) => [
          { ...official, digest: { ...official.digest, blake3: 'b'.repeat(64) } },
          ...rest,
        ]),
      ).toMatch(/another digest than the predicate's snapshot_id/);
    });
  });

  describe('signStatement', () => {
    it('gives the same bytes for the same statement', () => {
      expect(signStatement(STATEMENT, [KEY.signing], SAMPLE_MANIFEST_SHA256)).toEqual(ENVELOPE);
    });

    it('needs one to eight keys', () => {
      const keys = Array.from({ length: 9 }, () => KEY.signing);
      expect(() => signStatement(STATEMENT, [], SAMPLE_MANIFEST_SHA256)).toThrow('1 to 8 keys, not 0');
      expect(() => signStatement(STATEMENT, keys, SAMPLE_MANIFEST_SHA256)).toThrow('1 to 8 keys, not 9');
    });

    it('fits its envelope at its maximum length', () => {
      const long = (at: number): string => `${String(at).padStart(3, '0')}${'x'.repeat(125)}`;
      const retained = Array.from({ length: 32 }, (_, at) => ({
        ...sampleRelease(long(at), 'c'),
        base_release_id: sampleRelease(long(99), 'c').release_id,
        channel: 'localized' as const,
        retained_until: 253_402_300_799,
      }));
      const keys = Array.from({ length: 8 }, () => createKeyPair());
      const signing = keys.map((key) => key.signing);
      const envelope = signStatement(sampleStatement({ retained }), signing, SAMPLE_MANIFEST_SHA256);
      const verified = verifyEnvelope(
        envelope,
        keys.map((key) => key.trusted),
      );
      expect(verified.ok && verified.value.signedBy).toHaveLength(8);
    });
  });
});
