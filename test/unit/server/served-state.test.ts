import { describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/domain/release/channel.ts';
import type { Blake3Hex, Crc64Decimal, SnapshotId } from '../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import { success } from '../../../src/domain/result.ts';
import type {
  AttestationStatement,
  AttestedRelease,
  CurrentAttestedRelease,
  VerifiedAttestation,
} from '../../../src/domain/verdict/attestation.ts';
import type { Reason } from '../../../src/domain/verdict/reasons.ts';
import type { Verdict } from '../../../src/domain/verdict/verdict.ts';
import { createServing } from '../../../src/server/serving/create-serving.ts';
import { DigestFinder } from '../../../src/server/serving/digest-finder.ts';
import type { LoadOutcome } from '../../../src/server/serving/load-snapshot.ts';
import type { ServingControl } from '../../../src/server/serving/serving.ts';
import { createSnapshotBinder } from '../../../src/server/serving/snapshot-binder.ts';
import { createVerdictLog } from '../../../src/server/serving/verdict-log.ts';
import type { Logger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { destinationOf, fakeManifestIndex } from '../../fakes/fake-serving.ts';

const digestOf = (letter: string): Blake3Hex => letter.repeat(64) as Blake3Hex;
const NO_CRC = '0' as Crc64Decimal;

const entry = (name: string, letter: string): ManifestEntry => ({
  destination: destinationOf(name),
  size: 1,
  blake3: digestOf(letter),
  crc64: NO_CRC,
  source: 'official',
  media_type: 'text/plain',
});

const ENTRIES = [entry('a', 'a'), entry('b', 'b')];

/** A serving whose volume, loads and objects the test controls. */
class Bench {
  readonly clock = new FakeClock();
  readonly verdicts: string[] = [];
  troubles = 0;
  readonly loads: string[] = [];
  readonly sound = new Set<Blake3Hex>();
  readonly usable = new Set<Blake3Hex>();
  readonly serving: ServingControl;
  readonly #pending = new Map<SnapshotId, (outcome: LoadOutcome) => void>();
  /** Outcomes for loads; a snapshot without one waits for {@link finish}. */
  readonly outcomes = new Map<SnapshotId, LoadOutcome>();

  constructor() {
    this.serving = createServing({
      verify: (bytes) => {
        const statement = JSON.parse(Buffer.from(bytes).toString()) as AttestationStatement;
        const verified: VerifiedAttestation = {
          statement,
          payloadSha256: Buffer.from(bytes).toString(),
          signedBy: [],
        };
        return success(verified);
      },
      inspect: async ({ blake3 }) => ({
        sound: this.sound.has(blake3),
        kind: 'damaged',
        message: 'bad',
        memory: null,
      }),
      finder: new DigestFinder(),
      createBinder: (onBound) =>
        createSnapshotBinder({
          load: async (snapshotId, signal) => {
            this.loads.push(snapshotId);
            const known = this.outcomes.get(snapshotId);
            if (known !== undefined) return known;
            return await new Promise<LoadOutcome>((resolve, reject) => {
              this.#pending.set(snapshotId, resolve);
              signal.addEventListener('abort', () => {
                reject(new Error('aborted'));
              });
            });
          },
          probe: async ({ blake3 }) => this.usable.has(blake3),
          onBound,
        }),
      clock: this.clock,
      onVerdict: ({ channel, reason }) => this.verdicts.push(`${channel} ${reason ?? 'ok'}`),
      onTrouble: () => {
        this.troubles += 1;
      },
    });
    this.serving.observeVolume({ ok: true, storeId: 'store' });
  }

  release(releaseId: string, channel: Channel = 'official', base?: AttestedRelease): CurrentAttestedRelease {
    const { header, snapshotId } = fakeManifestIndex(releaseId, channel, ENTRIES);
    return {
      release_id: header.release_id,
      snapshot_id: snapshotId,
      entry_count: 2,
      total_bytes: 2,
      created_at: 1,
      current_since: 1,
      verified_at: 1,
      verification: 'full',
      result: 'PASSED',
      server_info: null,
      ...(base === undefined ? {} : { base_release_id: base.release_id }),
    };
  }

  offer(version: number, fields: Partial<AttestationStatement>): string {
    const issued_at = Math.floor(this.clock.now() / 1000);
    const statement: AttestationStatement = {
      version,
      issued_at,
      expires_at: issued_at + 600,
      store_id: 'store',
      verifier: { id: 'd', version: '1', boot_id: 'b' },
      official: null,
      localized: null,
      stale_localized: null,
      retained: [],
      previous_payload_sha256: null,
      ...fields,
    };
    return this.serving.offerEnvelope(Buffer.from(JSON.stringify(statement)));
  }

  loadable(release: AttestedRelease, channel: Channel = 'official', missing: number[] = []): LoadOutcome {
    const outcome: LoadOutcome = {
      ok: true,
      index: fakeManifestIndex(release.release_id, channel, ENTRIES),
      missing,
    };
    this.outcomes.set(release.snapshot_id, outcome);
    return outcome;
  }

  async finish(release: AttestedRelease, outcome: LoadOutcome): Promise<void> {
    this.#pending.get(release.snapshot_id)?.(outcome);
    await this.settle();
  }

  async settle(): Promise<void> {
    await this.clock.advance(0);
    await this.clock.advance(0);
  }

  verdict(channel: Channel = 'official'): Verdict {
    return this.serving.verdict(channel);
  }

  current(channel: Channel = 'official'): string | null {
    return this.serving.state().current[channel]?.releaseId ?? null;
  }
}

async function served(): Promise<{ bench: Bench; first: CurrentAttestedRelease }> {
  const bench = new Bench();
  const first = bench.release('r1');
  bench.loadable(first);
  expect(bench.offer(1, { official: first })).toBe('accepted');
  await bench.settle();
  expect(bench.verdict().distributable).toBe(true);
  return { bench, first };
}

describe('the serving of releases', () => {
  describe('the served state', () => {
    it('starts with nothing and becomes distributable when the attested snapshot is loaded', async () => {
      const bench = new Bench();
      expect(bench.verdict().reason).toBe('AttestationUnavailable');
      const first = bench.release('r1');
      bench.offer(1, { official: first });
      expect(bench.verdict().reason).toBe('SnapshotLoading');
      expect(bench.current()).toBeNull();
      await bench.settle();
      await bench.finish(first, {
        ok: true,
        index: fakeManifestIndex('r1', 'official', ENTRIES),
        missing: [],
      });
      expect([bench.verdict().distributable, bench.current()]).toEqual([true, 'r1']);
    });

    it('logs each change of a verdict once', async () => {
      const { bench, first } = await served();
      const before = bench.verdicts.length;
      bench.offer(2, { official: first });
      bench.serving.tick();
      bench.verdict();
      expect(bench.verdicts).toHaveLength(before);
    });

    it('does not switch, nor read anything again, when an attestation is only renewed', async () => {
      const { bench, first } = await served();
      const { generation } = bench.serving.state();
      bench.offer(2, { official: first });
      await bench.settle();
      expect(bench.serving.state().generation).toBe(generation);
      expect(bench.loads).toHaveLength(1);
      expect(bench.verdict().attestation?.version).toBe(2);
    });

    it('expires on time and is trusted again only with a newer attestation', async () => {
      const { bench, first } = await served();
      await bench.clock.advance(599_999);
      expect(bench.verdict().distributable).toBe(true);
      await bench.clock.advance(1);
      expect(bench.verdict().reason).toBe('AttestationExpired');
      bench.offer(2, { official: first });
      expect(bench.verdict().distributable).toBe(true);
    });

    it('follows jumps of the wall clock both ways', async () => {
      const { bench } = await served();
      const start = bench.clock.now();
      bench.clock.jumpTo(start + 3_600_000);
      expect(bench.verdict().reason).toBe('AttestationExpired');
      bench.clock.jumpTo(start - 3_600_000);
      expect(bench.verdict().reason).toBe('AttestationNotYetValid');
      bench.clock.jumpTo(start);
      expect(bench.verdict().distributable).toBe(true);
    });

    it('refuses a roll-back and keeps its state', async () => {
      const { bench, first } = await served();
      bench.offer(5, { official: first });
      expect(bench.offer(4, { official: null })).toBe('refused');
      expect([bench.verdict().distributable, bench.verdict().attestation?.version]).toEqual([true, 5]);
    });
  });

  describe('switching releases', () => {
    it('keeps the old pair while the new one is read, then switches everything in one step', async () => {
      const { bench, first } = await served();
      const second = bench.release('r2');
      const logged = bench.verdicts.length;
      bench.offer(2, { official: second });
      await bench.settle();
      expect([bench.verdict().distributable, bench.current(), bench.verdict().release_id]).toEqual([
        true,
        'r1',
        'r1',
      ]);
      await bench.finish(second, bench.loadable(second));
      expect([bench.current(), bench.verdict().attestation?.version]).toEqual(['r2', 2]);
      expect(bench.serving.state().byReleaseId.has(first.release_id)).toBe(false);
      expect(bench.verdicts.slice(logged)).toEqual(['official ok']);
    });

    it('drops the old release immediately when the new attestation withdraws the channel', async () => {
      const { bench, first } = await served();
      const second = bench.release('r2');
      const held = bench.serving.state().current.official;
      bench.offer(2, { official: null });
      expect(bench.verdict().reason).toBe('ReleaseNotAuthorized');
      expect(held !== null && bench.serving.servable(held)).toMatchObject({ ok: false });
      bench.offer(3, { official: { ...first, result: 'FAILED' } });
      expect(bench.verdict().reason).toBe('ReleaseNotAuthorized');
      bench.offer(4, { official: second });
      expect(bench.verdict().reason).toBe('SnapshotLoading');
    });

    it('drops a release immediately when versions were missed and it is no longer named', async () => {
      const { bench } = await served();
      bench.offer(5, { official: bench.release('r2') });
      expect(bench.verdict().reason).toBe('SnapshotLoading');
    });

    it('does not keep the old pair beyond the old attestation', async () => {
      const { bench } = await served();
      await bench.clock.advance(500_000);
      bench.offer(2, { official: bench.release('r2') });
      expect(bench.verdict().distributable).toBe(true);
      await bench.clock.advance(100_000);
      expect(bench.verdict().reason).toBe('SnapshotLoading');
    });

    it('says of each release that is not loaded what its own evaluation says', async () => {
      const { bench, first } = await served();
      const [second, third] = [bench.release('r2'), bench.release('r3', 'localized', bench.release('r2'))];
      const reasonOf = (releaseId: string): string => {
        const pending = bench.serving.state().pending.get(releaseId);
        if (pending === undefined) return 'not pending';
        const servable = bench.serving.servable(pending);
        return servable.ok ? 'ok' : servable.reason;
      };
      const retained_until = Math.floor(bench.clock.now() / 1000) + 60;
      const retained = [{ ...first, channel: 'official' as const, retained_until }];
      bench.offer(2, { official: second, localized: third, retained });
      expect([bench.current(), reasonOf('r1')]).toEqual(['r1', 'not pending']);
      expect([reasonOf('r2'), reasonOf('r3')]).toEqual(['SnapshotLoading', 'SnapshotLoading']);
      await bench.settle();
      await bench.finish(second, bench.loadable(second));
      expect([bench.current(), reasonOf('r2')]).toEqual(['r1', 'SnapshotLoading']);
      await bench.finish(third, { ok: false, manifest: 'damaged', message: 'the manifest is damaged' });
      expect([bench.current(), reasonOf('r3')]).toEqual(['r2', 'ManifestDamaged']);
    });

    it('never rolls back when the new snapshot cannot be read', async () => {
      const { bench } = await served();
      const second = bench.release('r2');
      bench.offer(2, { official: second });
      await bench.settle();
      await bench.finish(second, { ok: false, manifest: 'damaged', message: 'the manifest is damaged' });
      expect([bench.verdict().reason, bench.current()]).toEqual(['ManifestDamaged', null]);
      bench.loadable(second);
      await bench.serving.recheck();
      expect([bench.verdict().distributable, bench.current()]).toEqual([true, 'r2']);
    });

    it('keeps a withdrawn localized release out while the official one is still being replaced', async () => {
      const { bench, first } = await served();
      const localized = bench.release('l1', 'localized', first);
      bench.loadable(localized, 'localized');
      bench.offer(2, { official: first, localized });
      await bench.settle();
      expect(bench.verdict('localized').distributable).toBe(true);
      bench.offer(3, { official: bench.release('r2'), localized: null });
      expect(bench.verdict('localized').reason).toBe('ReleaseNotAuthorized');
      expect(bench.verdict('official').distributable).toBe(true);
    });

    it('serves a retained release until its retention ends', async () => {
      const { bench, first } = await served();
      const second = bench.release('r2');
      bench.loadable(second);
      const retainedUntil = Math.floor(bench.clock.now() / 1000) + 60;
      bench.offer(2, {
        official: second,
        retained: [{ ...first, channel: 'official', retained_until: retainedUntil }],
      });
      await bench.settle();
      const retained = bench.serving.state().byReleaseId.get('r1');
      if (retained === undefined) throw new Error('r1 is not served');
      expect(retained.role).toBe('retained');
      expect(bench.serving.servable(retained)).toEqual({ ok: true });
      await bench.clock.advance(60_000);
      expect(bench.serving.servable(retained)).toMatchObject({ ok: false, reason: 'ReleaseNotAuthorized' });
    });
  });

  describe('trouble', () => {
    it('counts missing entries and recovers when they are restored', async () => {
      const bench = new Bench();
      const first = bench.release('r1');
      bench.loadable(first, 'official', [0, 1]);
      bench.offer(1, { official: first });
      await bench.settle();
      expect(bench.verdict()).toMatchObject({
        reason: 'EntryMissing',
        message: 'no usable object for 2 entries: a, b',
      });
      bench.usable.add(digestOf('a'));
      await bench.serving.recheck();
      expect(bench.verdict().message).toBe('no usable object for 1 entry: b');
      bench.usable.add(digestOf('b'));
      await bench.serving.recheck();
      expect(bench.verdict().distributable).toBe(true);
      expect(bench.serving.hasTrouble()).toBe(false);
    });

    it('trusts a damage report for every release with that digest until the object is sound', async () => {
      const { bench, first } = await served();
      const localized = bench.release('l1', 'localized', first);
      bench.loadable(localized, 'localized');
      bench.offer(2, { official: first, localized });
      await bench.settle();
      bench.serving.reportDamage({
        destination: 'a',
        blake3: digestOf('a'),
        kind: 'damaged',
        message: 'bad',
      });
      expect([bench.verdict().reason, bench.verdict('localized').reason]).toEqual([
        'EntryDamaged',
        'EntryDamaged',
      ]);
      await bench.serving.recheck();
      expect(bench.verdict().reason).toBe('EntryDamaged');
      bench.sound.add(digestOf('a'));
      await bench.serving.recheck();
      expect([bench.verdict().distributable, bench.verdict('localized').distributable]).toEqual([true, true]);
    });

    it('forgets damage of digests that no release holds', async () => {
      const { bench } = await served();
      bench.serving.reportDamage({
        destination: 'x',
        blake3: digestOf('f'),
        kind: 'damaged',
        message: 'bad',
      });
      expect([bench.verdict().distributable, bench.serving.hasTrouble()]).toEqual([true, false]);
    });

    it('keeps damage while the manifest cannot be read, and counts it when the manifest is back', async () => {
      const { bench, first } = await served();
      bench.serving.reportDamage({
        destination: 'a',
        blake3: digestOf('a'),
        kind: 'damaged',
        message: 'bad',
      });
      bench.outcomes.set(first.snapshot_id, { ok: false, manifest: 'missing', message: 'no manifest' });
      bench.serving.observeVolume({ ok: false, message: 'the volume is absent' });
      bench.serving.observeVolume({ ok: true, storeId: 'store' });
      await bench.settle();
      await bench.serving.recheck();
      expect(bench.verdict().reason).toBe('SnapshotMissing');
      bench.loadable(first);
      await bench.serving.recheck();
      expect(bench.verdict().reason).toBe('EntryDamaged');
      bench.sound.add(digestOf('a'));
      await bench.serving.recheck();
      expect(bench.verdict().distributable).toBe(true);
    });

    it('reports that the volume is unavailable, and reads everything again when it is back', async () => {
      const { bench } = await served();
      expect(bench.serving.observeVolume({ ok: false, message: 'the volume is absent' })).toBe(false);
      expect(bench.verdict()).toMatchObject({ reason: 'SnapshotMissing', message: 'the volume is absent' });
      expect(bench.serving.observeVolume({ ok: true, storeId: 'store' })).toBe(true);
      await bench.settle();
      expect(bench.verdict().distributable).toBe(true);
      expect(bench.loads).toHaveLength(2);
    });

    it('drops its earlier state when the volume is another store, whose versions start again', async () => {
      const { bench, first } = await served();
      bench.offer(9, { official: first });
      expect(bench.serving.observeVolume({ ok: true, storeId: 'other' })).toBe(true);
      expect([bench.verdict().reason, bench.current()]).toEqual(['AttestationInvalid', null]);
      expect(bench.offer(10, { official: first })).toBe('refused');
      expect(bench.offer(1, { official: first, store_id: 'other' })).toBe('accepted');
      await bench.settle();
      expect(bench.verdict().distributable).toBe(true);
    });
  });

  describe('a release that was repaired', () => {
    it('is served as soon as the daemon attests it again, without a wrong EntryDamaged in between', async () => {
      const bench = new Bench();
      const release = bench.release('r1');
      bench.loadable(release);
      bench.offer(1, { official: release });
      await bench.settle();
      bench.serving.reportDamage({
        destination: 'a',
        blake3: digestOf('a'),
        kind: 'damaged',
        message: 'bad',
      });
      const failure = { reason: 'EntryDamaged' as const, entry_count: 1, examples: ['a'] };
      bench.offer(2, { official: { ...release, result: 'FAILED', failure } });
      await bench.settle();
      expect(bench.verdict().reason).toBe('EntryDamaged');
      bench.verdicts.length = 0;
      bench.offer(3, { official: release });
      await bench.settle();
      expect(bench.verdict().reason).toBeNull();
      expect(bench.verdicts.filter((each) => each.startsWith('official'))).not.toContain(
        'official EntryDamaged',
      );
    });

    it('is checked without a wait when this server missed the withdrawal', async () => {
      const bench = new Bench();
      const release = bench.release('r1');
      bench.loadable(release);
      bench.offer(1, { official: release });
      await bench.settle();
      bench.serving.reportDamage({
        destination: 'a',
        blake3: digestOf('a'),
        kind: 'damaged',
        message: 'bad',
      });
      const before = bench.troubles;
      bench.offer(3, { official: release });
      expect(bench.troubles).toBe(before + 1);
      bench.sound.add(digestOf('a'));
      await bench.serving.recheck();
      expect(bench.verdict().reason).toBeNull();
    });
  });

  describe('a manifest that cannot be read', () => {
    it('is reported once for each kind of trouble, and again when it is readable', async () => {
      const bench = new Bench();
      const release = bench.release('r1');
      const changes: unknown[] = [];
      bench.serving.watchManifests(({ blake3, report }) => changes.push([blake3, report?.kind ?? null]));
      const digest = release.snapshot_id.slice('blake3:'.length);
      bench.outcomes.set(release.snapshot_id, { ok: false, manifest: 'missing', message: 'gone' });
      bench.offer(1, { official: release });
      await bench.settle();
      await bench.serving.recheck();
      await bench.serving.recheck();
      expect(changes).toEqual([[digest, 'missing']]);
      bench.outcomes.set(release.snapshot_id, { ok: false, manifest: 'damaged', message: 'bad' });
      await bench.serving.recheck();
      bench.loadable(release);
      await bench.serving.recheck();
      expect(changes).toEqual([
        [digest, 'missing'],
        [digest, 'damaged'],
        [digest, null],
      ]);
    });
  });
});

/** The levels at which a server logs these verdicts, one after another. */
function levelsOf(channel: Channel, reasons: ReadonlyArray<Reason | null>): readonly string[] {
  const levels: string[] = [];
  const log = createVerdictLog({
    info: () => levels.push('info'),
    warn: () => levels.push('warn'),
  } as unknown as Logger);
  reasons.forEach((reason, index) => {
    const verdict = { channel, reason, distributable: reason === null } as Verdict;
    log(verdict, index === 0 ? null : ({ reason: reasons[index - 1] ?? null } as Verdict));
  });
  return levels;
}

describe('the log of verdicts', () => {
  it('gives no warning while the official channel has not been served yet', () => {
    expect(
      levelsOf('official', ['AttestationUnavailable', 'ReleaseNotAuthorized', 'SnapshotLoading']),
    ).toEqual(['info', 'info', 'info']);
    expect(levelsOf('official', ['EntryDamaged'])).toEqual(['warn']);
  });

  it('gives a warning when an official release that was served is withdrawn, whatever came between', () => {
    expect(
      levelsOf('official', [null, 'EntryDamaged', 'ReleaseNotAuthorized', 'AttestationUnavailable', null]),
    ).toEqual(['info', 'warn', 'warn', 'warn', 'info']);
    expect(levelsOf('localized', [null, 'ReleaseNotAuthorized'])).toEqual(['info', 'info']);
  });
});
