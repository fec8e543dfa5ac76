import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ATTESTATION_PAYLOAD_TYPE,
  ENVELOPE_MAX_BYTES,
  ENVELOPE_MAX_SIGNATURES,
  parseStatement,
  renderStatement,
  RETAINED_MAX_RELEASES,
} from '../../../src/contract/formats/attestation-format.ts';
import { parseConditions, renderConditions } from '../../../src/contract/formats/condition-headers.ts';
import type { Channel } from '../../../src/domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../../../src/domain/release/digest.ts';
import {
  CONDITION_MESSAGE_MAX,
  DAEMON_CONDITIONS_MAX,
  type DaemonCondition,
} from '../../../src/domain/service-state/daemon-conditions.ts';
import type {
  AttestationStatement,
  AttestedRelease,
  CurrentAttestedRelease,
} from '../../../src/domain/verdict/attestation.ts';
import {
  earlierRelease,
  SAMPLE_MANIFEST_SHA256,
  sampleRelease,
  sampleStatement,
} from '../../support/attestations.ts';

const SECOND = fc.integer({ min: 0, max: 253_402_300_799 });

const release = (id: string): fc.Arbitrary<AttestedRelease> =>
  fc
    .record({
      digit: fc.constantFrom(...'0123456789abcdef'.split('')),
      entry_count: fc.maxSafeNat(),
      total_bytes: fc.maxSafeNat(),
      created_at: SECOND,
      verified_at: SECOND,
      result: fc.constantFrom('PASSED' as const, 'FAILED' as const),
    })
    .map(({ digit, ...rest }) => ({ ...earlierRelease(id, digit), ...rest }));

const current = (id: string): fc.Arbitrary<CurrentAttestedRelease> =>
  fc
    .record({ release: release(id), current_since: SECOND })
    .map(({ release: one, ...rest }) => ({ ...one, ...rest }));

const BASE = { base_release_id: sampleRelease('base', 'a').release_id };

const statements: fc.Arbitrary<AttestationStatement> = fc
  .record({
    version: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    times: fc.tuple(SECOND, SECOND).filter(([left, right]) => left !== right),
    store_id: fc.string({ minLength: 1, maxLength: 64 }),
    official: fc.option(current('now')),
    localized: fc.option(current('now').map((each) => ({ ...each, ...BASE }))),
    retained: fc.array(fc.tuple(release('x'), fc.constantFrom<Channel>('official', 'localized'), SECOND), {
      maxLength: RETAINED_MAX_RELEASES,
    }),
    previous: fc.option(fc.constant('e'.repeat(64))),
  })
  .map(({ times, retained, previous, ...rest }) => ({
    ...sampleStatement(rest),
    issued_at: Math.min(...times),
    expires_at: Math.max(...times),
    retained: retained.map(([each, channel, until], at) => ({
      ...each,
      ...(channel === 'localized' ? BASE : {}),
      release_id: sampleRelease(`old-${at}`, 'a').release_id,
      result: 'PASSED' as const,
      channel,
      retained_until: until,
    })),
    previous_payload_sha256: previous,
  }));

describe('the format of an attestation', () => {
  describe('a statement', () => {
    it('survives a write and a read unchanged', () => {
      fc.assert(
        fc.property(statements, (statement) => {
          const bytes = renderStatement(statement, SAMPLE_MANIFEST_SHA256);
          expect(parseStatement(bytes)).toEqual({ ok: true, value: statement });
          expect(renderStatement(structuredClone(statement), SAMPLE_MANIFEST_SHA256)).toEqual(bytes);
        }),
      );
    });

    it('has exactly the authorized releases as subjects, with both digests', () => {
      const failed = sampleStatement({ official: { ...sampleRelease('r90_one', 'a'), result: 'FAILED' } });
      const bytes = renderStatement(failed, SAMPLE_MANIFEST_SHA256);
      const { subject, ...rest } = JSON.parse(bytes.toString()) as Record<string, unknown>;
      expect(subject).toEqual([
        { name: 'localized/r90_one-zh.1', digest: { blake3: 'b'.repeat(64), sha256: 'b'.repeat(64) } },
        { name: 'official/r89_old', digest: { blake3: 'c'.repeat(64), sha256: 'c'.repeat(64) } },
      ]);
      expect(rest).toMatchObject({
        _type: 'https://in-toto.io/Statement/v1',
        predicateType: 'https://slipway.dev/attestation/distribution/v1',
      });
    });

    it('ignores fields that a later version may add', () => {
      const value = JSON.parse(renderStatement(sampleStatement(), SAMPLE_MANIFEST_SHA256).toString()) as {
        predicate: object;
      };
      const extended = { ...value, extra: 1, predicate: { ...value.predicate, future: { deep: true } } };
      expect(parseStatement(Buffer.from(JSON.stringify(extended)))).toEqual({
        ok: true,
        value: sampleStatement(),
      });
    });
  });

  describe('the server-info document of a release', () => {
    const withDocument = (value: unknown): string => {
      const payload = JSON.parse(renderStatement(sampleStatement(), SAMPLE_MANIFEST_SHA256).toString()) as {
        predicate: { official: Record<string, unknown> };
      };
      payload.predicate.official['server_info'] = value;
      return JSON.stringify(payload);
    };

    it('is stated, and may be null', () => {
      expect(parseStatement(Buffer.from(withDocument(undefined))).ok).toBe(false);
      const none = parseStatement(Buffer.from(withDocument(null)));
      expect(none.ok && none.value.official?.server_info).toBeNull();
    });

    it.each([
      [0, true],
      [4 * 1024 * 1024, true],
      [4 * 1024 * 1024 + 1, false],
      [-1, false],
    ])('may have %i bytes: %s', (size, allowed) => {
      const document = { blake3: 'd'.repeat(64), size };
      const parsed = parseStatement(Buffer.from(withDocument(document)));
      expect(parsed.ok).toBe(allowed);
      if (parsed.ok) expect(parsed.value.official?.server_info).toEqual(document);
    });

    it.each([[{ blake3: 'D'.repeat(64), size: 1 }], [{ size: 1 }], ['text']])('is not %j', (document) => {
      expect(parseStatement(Buffer.from(withDocument(document))).ok).toBe(false);
    });
  });

  it('fits its envelope with every release, the longest names and damage in both channels', () => {
    const digests = new Map<SnapshotId, string>();
    const largest = (at: number): CurrentAttestedRelease => {
      const digest = at.toString(16).padStart(64, 'f');
      const id = `${String(at).padStart(3, '0')}${'x'.repeat(125)}`;
      digests.set(`blake3:${digest}` as SnapshotId, digest);
      return {
        ...sampleRelease(id, 'a'),
        snapshot_id: `blake3:${digest}` as SnapshotId,
        base_release_id: sampleRelease(id, 'a').release_id,
        server_info: { blake3: digest as Blake3Hex, size: 4 * 1024 * 1024 },
      };
    };
    const withdrawn = {
      result: 'FAILED',
      failure: {
        reason: 'EntryDamaged',
        entry_count: 2_000_000,
        examples: Array.from({ length: 5 }, () => '"'.repeat(1024)),
      },
    } as const;
    const statement = sampleStatement({
      official: { ...largest(0), ...withdrawn },
      localized: { ...largest(1), ...withdrawn },
      retained: Array.from({ length: RETAINED_MAX_RELEASES }, (_, at) => ({
        ...largest(at + 2),
        channel: 'localized',
        retained_until: 253_402_300_799,
      })),
    });
    const payload = renderStatement(statement, digests).toString('base64');
    const signatures = Array.from({ length: ENVELOPE_MAX_SIGNATURES }, () => ({
      keyid: 'a'.repeat(64),
      sig: 'a'.repeat(88),
    }));
    const envelope = JSON.stringify({ payloadType: ATTESTATION_PAYLOAD_TYPE, payload, signatures });
    expect(envelope.length).toBeGreaterThan(64 * 1024);
    expect(envelope.length).toBeLessThan(ENVELOPE_MAX_BYTES);
  });

  describe('renderStatement', () => {
    const [retained] = sampleStatement().retained;

    it.each<[string, Partial<AttestationStatement>, RegExp]>([
      ['is without validity', { expires_at: 1_763_683_200 }, /expires_at must be later/],
      ['has version 0', { version: 0 }, /predicate\.version/],
      ['dates past what a date can be', { expires_at: 8_640_000_000_001 }, /predicate\.expires_at/],
      ['localizes nothing', { localized: sampleRelease('x', 'b') }, /base_release_id/],
      ['retains what failed', { retained: [{ ...retained!, result: 'FAILED' }] }, /retained\.0\.result/],
      ['retains one twice', { retained: [retained!, retained!] }, /official\/r89_old appears twice/],
      [
        'retains the current one',
        { retained: [{ ...retained!, release_id: sampleStatement().official!.release_id }] },
        /official\/r90_one appears twice/,
      ],
      [
        'retains too many',
        {
          retained: Array.from({ length: RETAINED_MAX_RELEASES + 1 }, (_, at) => ({
            ...retained!,
            release_id: sampleRelease(`r-${at}`, 'c').release_id,
          })),
        },
        /predicate\.retained|subject/,
      ],
    ])('refuses a statement that %s', (_name, changes, message) => {
      expect(() => renderStatement(sampleStatement(changes), SAMPLE_MANIFEST_SHA256)).toThrow(message);
    });

    it('needs the SHA-256 of every authorized manifest, well-formed', () => {
      expect(() => renderStatement(sampleStatement(), new Map())).toThrow(
        `no SHA-256 was given for the manifest of official/r90_one (blake3:${'a'.repeat(64)})`,
      );
      const upper = new Map([...SAMPLE_MANIFEST_SHA256].map(([id]) => [id, 'A'.repeat(64)] as const));
      expect(() => renderStatement(sampleStatement(), upper)).toThrow(/lower-case hexadecimal/);
    });
  });
});

const ONE: DaemonCondition = {
  code: 'syncing',
  message: 'a sync runs: "é", 100 %',
  since: 5,
  next_try: null,
};

describe('the header of the conditions', () => {
  it('survives a write and a read unchanged, in the characters of a header', () => {
    const text = renderConditions([ONE]);
    expect(text).toMatch(/^[\x21-\x7e]+$/);
    expect(parseConditions(text)).toEqual([ONE]);
    const ofChannel = { ...ONE, code: 'repairing', channel: 'localized' } as const;
    expect(parseConditions(renderConditions([ofChannel]))).toEqual([ofChannel]);
    expect(parseConditions(renderConditions([]))).toEqual([]);
  });

  it('stays small, however many and long the conditions are', () => {
    const many = Array.from({ length: 50 }, () => ({ ...ONE, message: '語'.repeat(5000) }));
    const text = renderConditions(many);
    expect(text.length).toBeLessThanOrEqual(8 * 1024);
    const read = parseConditions(text);
    expect(read?.length).toBeGreaterThan(0);
    expect(read?.length).toBeLessThanOrEqual(DAEMON_CONDITIONS_MAX);
    expect(read?.[0]?.message).toHaveLength(CONDITION_MESSAGE_MAX);
  });

  it('leaves out a condition of a newer daemon', () => {
    expect(
      parseConditions(encodeURIComponent(JSON.stringify([{ ...ONE, code: 'unheard_of' }, ONE]))),
    ).toEqual([ONE]);
  });

  it.each([null, '', '%', '%7B%7D', 'null'])('tells nothing as %j', (text) => {
    expect(parseConditions(text)).toBe(null);
  });
});
