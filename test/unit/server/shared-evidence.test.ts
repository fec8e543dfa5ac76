import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LoadOutcome } from '../../../src/server/serving/load-snapshot.ts';
import type { VerifiedAttestation } from '../../../src/domain/verdict/attestation.ts';
import type { Blake3Hex, Crc64Decimal } from '../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import type { DamageReport } from '../../../src/domain/verdict/evidence.ts';
import { success } from '../../../src/domain/result.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import type { HashPool } from '../../../src/platform/hashing/digests.ts';
import { createServing } from '../../../src/server/serving/create-serving.ts';
import { DigestFinder } from '../../../src/server/serving/digest-finder.ts';
import { createObjectInspector } from '../../../src/server/serving/object-inspector.ts';
import type { DamageChange, ServingControl } from '../../../src/server/serving/serving.ts';
import { createSnapshotBinder } from '../../../src/server/serving/snapshot-binder.ts';
import type { ManifestIndex } from '../../../src/snapshot/manifest/manifest-index.ts';
import { objectPath } from '../../../src/snapshot/volume/layout.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { destinationOf, fakeManifestIndex, fakeRelease } from '../../fakes/fake-serving.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ENTRIES = ['a', 'b', 'c'].map((name): ManifestEntry => ({
  destination: destinationOf(name),
  size: 1,
  blake3: name.repeat(64) as Blake3Hex,
  crc64: '0' as Crc64Decimal,
  source: 'official',
  media_type: 'text/plain',
}));
const REPORT: DamageReport = {
  destination: 'b',
  blake3: ENTRIES[1]!.blake3,
  kind: 'damaged',
  message: 'another process found it',
};

/** One process of several; the test controls its volume and inspections. */
function createProcess(
  missing: readonly number[] = [],
  index: ManifestIndex = fakeManifestIndex('r1', 'official', ENTRIES),
): {
  serving: ServingControl;
  changes: DamageChange[];
  accepted: number[];
  inspections: { sound: boolean; failing: boolean; count: number };
  load: () => void;
  fail: () => void;
  offer: (version: number) => void;
  clock: FakeClock;
} {
  const clock = new FakeClock();
  const changes: DamageChange[] = [];
  const accepted: number[] = [];
  const inspections = { sound: false, failing: false, count: 0 };
  const loaded = Promise.withResolvers<LoadOutcome>();
  const serving = createServing({
    verify: (bytes) => success(JSON.parse(Buffer.from(bytes).toString()) as VerifiedAttestation),
    inspect: async () => {
      inspections.count += 1;
      if (inspections.failing) return null;
      return await Promise.resolve({
        sound: inspections.sound,
        kind: 'damaged',
        message: 'bad',
        memory: null,
      });
    },
    finder: new DigestFinder(),
    createBinder: (onBound) =>
      createSnapshotBinder({
        load: async () => await loaded.promise,
        probe: async () => await Promise.resolve(true),
        onBound,
      }),
    clock,
    onVerdict: () => undefined,
    onTrouble: () => undefined,
  });
  serving.watchDamage((change) => changes.push(change));
  serving.watchAttestation(({ version, storeId }) => {
    expect(storeId).toBe('store');
    accepted.push(version);
  });
  serving.observeVolume({ ok: true, storeId: 'store' });
  const { attested } = fakeRelease({ releaseId: 'r1', entries: index.entries(0, index.length) });
  return {
    serving,
    changes,
    accepted,
    inspections,
    clock,
    load: () => {
      loaded.resolve({ ok: true, index, missing });
    },
    fail: () => {
      loaded.resolve({ ok: false, manifest: 'damaged', message: 'the manifest is damaged' });
    },
    offer: (version) => {
      const issued_at = Math.floor(clock.now() / 1000);
      const statement = {
        version,
        issued_at,
        expires_at: issued_at + 600,
        store_id: 'store',
        verifier: { id: 'd', version: '1', boot_id: 'b' },
        official: attested,
        localized: null,
        stale_localized: null,
        retained: [],
        previous_payload_sha256: null,
      };
      const verified = { statement, payloadSha256: `${version}`, signedBy: [] };
      serving.offerEnvelope(Buffer.from(JSON.stringify(verified)));
    },
  };
}

describe('the knowledge of other processes', () => {
  it('counts from the first verdict on, even if it arrived before anything was read', async () => {
    const { serving, load, offer, clock, inspections } = createProcess();
    serving.reportDamage(REPORT);
    // Its state is still unknown.
    inspections.sound = true;
    await serving.recheck();
    expect([inspections.count, serving.hasTrouble()]).toEqual([0, true]);
    inspections.sound = false;
    offer(1);
    load();
    await clock.advance(0);
    expect(serving.verdict('official')).toMatchObject({ distributable: false, reason: 'EntryDamaged' });
    inspections.sound = true;
    await serving.recheck();
    expect(serving.verdict('official').distributable).toBe(true);
  });

  it('includes every change: found, of another kind, sound, and missing from the start', async () => {
    const { serving, changes, load, offer, clock, inspections } = createProcess([0]);
    offer(1);
    load();
    await clock.advance(0);
    expect(changes).toMatchObject([{ report: { destination: 'a', kind: 'missing' } }]);
    await serving.recheck();
    serving.reportDamage({ ...REPORT, kind: 'missing' });
    serving.reportDamage({ ...REPORT, kind: 'missing' });
    await serving.recheck();
    inspections.sound = true;
    await serving.recheck();
    expect(changes.slice(1)).toMatchObject([
      { report: { kind: 'missing' } },
      { report: { kind: 'damaged' } },
      { blake3: REPORT.blake3, report: null },
    ]);
  });

  it('includes every accepted attestation, once', () => {
    const { accepted, offer } = createProcess();
    offer(1);
    offer(1);
    offer(3);
    offer(2);
    expect(accepted).toEqual([1, 3]);
  });
});

describe('much damage', () => {
  it('costs one manifest scan for each report, and none for each verdict', async () => {
    const entries = Array.from({ length: 300 }, (_, at): ManifestEntry => ({
      ...ENTRIES[0]!,
      destination: destinationOf(`entry-${at}`),
      blake3: at.toString(16).padStart(64, '0') as Blake3Hex,
    }));
    let scans = 0;
    const index = fakeManifestIndex('r1', 'official', entries);
    const counted: ManifestIndex = {
      ...index,
      findDigests: (wanted) => {
        scans += 1;
        return index.findDigests(wanted);
      },
    };
    const { serving, load, offer, clock } = createProcess([], counted);
    offer(1);
    load();
    await clock.advance(0);
    for (const { blake3, destination } of entries.slice(0, 200)) {
      serving.reportDamage({ blake3, destination, kind: 'missing', message: 'gone' });
    }
    expect(scans).toBe(200);
    offer(2);
    await serving.recheck();
    expect(serving.verdict('official').message).toContain('200');
    expect(scans).toBe(200);
  });

  it('that is known when a manifest is read is found in one scan', () => {
    const index = fakeManifestIndex('r1', 'official', ENTRIES);
    let scans = 0;
    const counted: ManifestIndex = {
      ...index,
      findDigests: (wanted) => {
        scans += 1;
        return index.findDigests(wanted);
      },
    };
    const finder = new DigestFinder();
    const digests = ENTRIES.map(({ blake3 }) => blake3);
    expect(digests.map((blake3) => finder.positions(counted, blake3, digests))).toEqual([[0], [1], [2]]);
    expect(scans).toBe(1);
    expect(finder.positions(counted, 'f'.repeat(64) as Blake3Hex, digests)).toEqual([]);
    expect(finder.positions(counted, 'f'.repeat(64) as Blake3Hex)).toEqual([]);
    expect(scans).toBe(2);
  });
});

describe('a recheck of damage', () => {
  it('keeps damage while a manifest that may hold the bytes is not read or cannot be read', async () => {
    const { serving, fail, offer, clock, inspections } = createProcess();
    serving.reportDamage(REPORT);
    await serving.recheck();
    expect(serving.hasTrouble()).toBe(true);
    offer(1);
    fail();
    await clock.advance(0);
    expect(serving.verdict('official').reason).toBe('ManifestDamaged');
    const gone: DamageChange[] = [];
    serving.watchDamage((change) => gone.push(change));
    await serving.recheck();
    expect([gone, inspections.count]).toEqual([[], 0]);
  });
});

describe('an inspection that fails for another reason than the object', () => {
  it('leaves the known damage as it is', async () => {
    const { serving, changes, load, offer, clock, inspections } = createProcess();
    offer(1);
    load();
    await clock.advance(0);
    serving.reportDamage(REPORT);
    inspections.failing = true;
    await serving.recheck();
    expect([changes.length, inspections.count]).toEqual([1, 1]);
    expect(serving.verdict('official').reason).toBe('EntryDamaged');
  });
});

describe('the inspection of a damaged object', () => {
  it('hashes a file once in each of its states', async () => {
    const root = await temporaryDirectory();
    const bytes = Buffer.from('sound');
    const blake3 = blake3Hex(bytes);
    const path = objectPath(root, blake3);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, 'rotte');
    let hashed = 0;
    const inspect = createObjectInspector({
      root,
      pool: {
        hashContent: async () => {
          hashed += 1;
          return await Promise.resolve({ size: 5, blake3: hashed === 1 ? 'x' : blake3, blocks: null });
        },
      } as unknown as HashPool,
    });
    const entry = { blake3, size: bytes.length };
    const first = await inspect(entry, null);
    expect(first).toMatchObject({ sound: false, kind: 'damaged' });
    expect(await inspect(entry, first?.memory)).toMatchObject({ sound: false });
    expect(hashed).toBe(1);
    await writeFile(path, bytes);
    expect(await inspect(entry, first?.memory)).toMatchObject({ sound: true });
    // The disk, and the copy in the page cache.
    expect(hashed).toBe(3);
  });

  it.each([
    ['a shortage of memory', Object.assign(new Error('no memory'), { code: 'ENOMEM' }), null],
    ['a closed hash pool', new Error('the hash pool is closed'), null],
    ['a crashed hash thread', Object.assign(new Error('x'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }), null],
    ['a device error', Object.assign(new Error('bad'), { code: 'EIO' }), { sound: false, kind: 'missing' }],
  ])('distinguishes the object from the attempt: %s', async (_, error, expected) => {
    const root = await temporaryDirectory();
    const bytes = Buffer.from('sound');
    const blake3 = blake3Hex(bytes);
    await mkdir(dirname(objectPath(root, blake3)), { recursive: true });
    await writeFile(objectPath(root, blake3), bytes);
    const pool = { hashContent: async () => await Promise.reject(error) } as unknown as HashPool;
    const inspection = await createObjectInspector({ root, pool })({ blake3, size: bytes.length }, null);
    if (expected === null) expect(inspection).toBeNull();
    else expect(inspection).toMatchObject(expected);
  });
});
