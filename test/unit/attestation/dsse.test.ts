import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64, preAuthenticationEncoding } from '../../../src/attestation/dsse.ts';

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
