import { describe, expect, it } from 'vitest';
import { signStatement } from '../../../src/attestation/sign.ts';
import type { AttestationStatement } from '../../../src/domain/verdict/attestation.ts';
import {
  acceptOrigin,
  NO_ORIGIN_MEMORY,
  type AcceptedOrigin,
  type OriginMemory,
} from '../../../src/mirror/accept-origin.ts';
import { createKeyPair, SAMPLE_MANIFEST_SHA256, sampleStatement } from '../../support/attestations.ts';

const KEY = createKeyPair();
const OTHER = createKeyPair();
const ISSUED = sampleStatement().issued_at;
const NOW_MS = (ISSUED + 10) * 1000;

function envelope(changes: Partial<AttestationStatement> = {}, key = KEY): Buffer {
  return signStatement(sampleStatement(changes), [key.signing], SAMPLE_MANIFEST_SHA256);
}

/** A reader that accepted these, the last one last. */
function remembering(...accepted: readonly AcceptedOrigin[]): OriginMemory {
  return {
    of: (storeId) => accepted.findLast((one) => one.storeId === storeId) ?? null,
    last: () => accepted.at(-1) ?? null,
  };
}

/** The memory of one envelope. */
function accepted(bytes: Buffer): AcceptedOrigin {
  const result = acceptOrigin(bytes, [KEY.trusted], NO_ORIGIN_MEMORY, NOW_MS);
  if (!result.ok) throw result.error;
  const { statement, payloadSha256 } = result.value.verified;
  return {
    storeId: statement.store_id,
    version: statement.version,
    issuedAt: statement.issued_at,
    payloadSha256,
  };
}

function verdict(bytes: Buffer, memory = NO_ORIGIN_MEMORY, nowMs = NOW_MS): string | boolean {
  const result = acceptOrigin(bytes, [KEY.trusted], memory, nowMs);
  return result.ok ? result.value.isNew : result.error.code;
}

describe('acceptOrigin', () => {
  it('accepts what a trusted key signed, and knows it again', () => {
    expect(verdict(envelope())).toBe(true);
    expect(verdict(envelope(), remembering(accepted(envelope())))).toBe(false);
  });

  it('refuses another key, a changed payload and no envelope', () => {
    expect(verdict(envelope({}, OTHER))).toBe('origin_untrusted');
    expect(verdict(Buffer.from(envelope().toString().replace('"payload":"ey', '"payload":"eX')))).toBe(
      'origin_untrusted',
    );
    expect(verdict(Buffer.from('{}'))).toBe('origin_untrusted');
  });

  it('refuses an older version of a store for good', () => {
    const memory = remembering(accepted(envelope({ version: 7 })));
    expect(verdict(envelope({ version: 8 }), memory)).toBe(true);
    expect(verdict(envelope({ version: 6 }), memory)).toBe('origin_rolled_back');
  });

  it('refuses a second attestation of one version', () => {
    const memory = remembering(accepted(envelope({ version: 7 })));
    expect(verdict(envelope({ version: 7, localized: null }), memory)).toBe('origin_forked');
  });

  it('follows an origin that was rebuilt, and not back to the store before', () => {
    const before = accepted(envelope({ version: 900 }));
    const rebuilt = envelope({ version: 1, store_id: 'rebuilt', issued_at: ISSUED + 1 });
    expect(verdict(rebuilt, remembering(before))).toBe(true);
    const after = remembering(before, accepted(rebuilt));
    expect(verdict(envelope({ version: 900 }), after)).toBe('origin_rolled_back');
    expect(verdict(envelope({ version: 1, store_id: 'third' }), after)).toBe('origin_rolled_back');
  });

  it('refuses an attestation that is not valid now', () => {
    const { expires_at: expires } = sampleStatement();
    expect(verdict(envelope(), NO_ORIGIN_MEMORY, expires * 1000 - 1)).toBe(true);
    expect(verdict(envelope(), NO_ORIGIN_MEMORY, expires * 1000)).toBe('origin_expired');
    expect(verdict(envelope(), NO_ORIGIN_MEMORY, (ISSUED - 60) * 1000)).toBe(true);
    expect(verdict(envelope(), NO_ORIGIN_MEMORY, (ISSUED - 60) * 1000 - 1)).toBe('origin_in_future');
  });

  it('accepts one that expired while it was carried, but none that is older or from the future', () => {
    const { expires_at: expires } = sampleStatement();
    const carried = (nowMs: number, memory = NO_ORIGIN_MEMORY): string | boolean => {
      const result = acceptOrigin(envelope(), [KEY.trusted], memory, nowMs, { mayBeExpired: true });
      return result.ok ? result.value.isNew : result.error.code;
    };
    expect(carried((expires + 86_400 * 90) * 1000)).toBe(true);
    expect(carried((ISSUED - 60) * 1000 - 1)).toBe('origin_in_future');
    const newer = { ...accepted(envelope()), version: 1_000_000 };
    expect(carried((expires + 86_400 * 90) * 1000, remembering(newer))).toBe('origin_rolled_back');
  });
});
