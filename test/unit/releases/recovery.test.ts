import { partial } from '../../support/partial.ts';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { signStatement } from '../../../src/attestation/sign.ts';
import { renderStoreFormat } from '../../../src/contract/formats/store-format.ts';
import { checkRowsAtStart } from '../../../src/engine/database/damaged-main-rows.ts';
import { openDatabase } from '../../../src/engine/database/database.ts';
import type { Database } from '../../../src/engine/database/sqlite-database.ts';
import { RECHECK_MS } from '../../../src/releases/checks/withdrawal-recheck.ts';
import { RELEASE_FAILPOINTS } from '../../../src/releases/jobs/release-failpoints.ts';
import { createAttestationRepository } from '../../../src/releases/records/attestation-repository.ts';
import { refuseForeignStore } from '../../../src/releases/recovery/store-owner.ts';
import { implementReleaseJobs } from '../../../src/releases/implement-release-jobs.ts';
import type { ReleaseParts } from '../../../src/releases/release-parts.ts';
import { createUpstreamSource } from '../../../src/upstream/adapters/upstream-source.ts';
import { createRecoveryRun } from '../../../src/releases/recovery/recovery-run.ts';
import type { TaskContext } from '../../../src/engine/tasks/task.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { createKeyPair, SAMPLE_MANIFEST_SHA256, sampleStatement } from '../../support/attestations.ts';
import { createSyncedWorld, DAY, ended } from '../../support/release-world.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

describe('the recovery at the start', () => {
  test.each(RELEASE_FAILPOINTS)(
    'a process that ends at %s leaves the old or the new release',
    async (failpoint) => {
      const world = await createSyncedWorld();
      const before = await world.onVolume();
      world.upstream.releaseId = '2.0';
      world.upstream.files.set('a', 'ONE');
      world.script.failAt = failpoint;
      expect((await world.act('sync')).status).toBe('failed');
      await world.restart();

      const after = world.attested();
      expect(after.version).toBeGreaterThan(before?.version ?? 0);
      expect(['1.0', '2.0']).toContain(after.official?.release_id);
      expect(after.official?.result).toBe('PASSED');
      expect(world.releases.repository.current('official')?.release_id).toBe(after.official?.release_id);
      expect(await world.contents(String(after.official?.snapshot_id))).toHaveLength(2);
      expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });

      expect((await world.act('sync')).status).toBe('succeeded');
      expect(world.attested().official).toMatchObject({ release_id: '2.0', result: 'PASSED' });
      expect(world.attested().retained.map((release) => release.release_id)).toEqual(['1.0']);
    },
  );

  test('a restart checks the releases, then attests with a higher version', async () => {
    const world = await createSyncedWorld();
    const before = world.attested();
    await world.restart({ start: false });
    expect(world.releases.attestation.current()).toBeNull();
    await world.releases.start();
    expect(world.attested()).toMatchObject({
      version: before.version + 1,
      official: before.official,
      verifier: { boot_id: 'boot-2' },
    });
  });

  test.each([
    ['snapshot_id', `blake3:${'0'.repeat(64)}`],
    ['manifest_sha256', '0'.repeat(64)],
    ['entry_count', 3],
    ['total_bytes', 7],
  ] as const)(
    'a value of the database that only contradicts the signed attestation and the volume is corrected: %s',
    async (column, value) => {
      const world = await createSyncedWorld();
      const { official } = world.attested();
      const row = world.releases.repository.get('official', official!.release_id)!;
      world.releases.repository.update('official', row.release_id, { [column]: value });
      await world.restart();
      expect(world.releases.repository.get('official', row.release_id)).toMatchObject({
        [column]: row[column],
      });
      expect(world.attested().official).toMatchObject({ snapshot_id: row.snapshot_id, result: 'PASSED' });
      expect(await world.contents(String(row.snapshot_id))).toHaveLength(2);
      expect((await world.act('verify', { force: true })).result).toMatchObject({ damaged: 0 });
    },
  );

  test('objects lost while the daemon was down cause an immediate withdrawal', async () => {
    const world = await createSyncedWorld();
    await world.damage('two', null);
    await world.restart();
    expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'FAILED' });
  });

  test('a release whose verification is a day old is verified again', async () => {
    const world = await createSyncedWorld();
    await world.clock.skip(DAY + 1000);
    await world.restart();
    const task = world.engine.list(1)[0];
    expect(task?.kind).toBe('verify');
    await ended(world.engine, task!.task_id);
    expect(world.releases.repository.current('official')?.verified_at).toBe(
      Math.floor(world.clock.now() / 1000),
    );
  });

  describe('the database is lost', () => {
    test('releases are adopted from the volume, but attested only after a full verification', async () => {
      const world = await createSyncedWorld();
      world.upstream.excludedCount = 2;
      await world.act('sync');
      const before = world.attested();
      await world.clock.advance(60_000);
      await world.restart({ database: 'lost' });
      expect(world.releases.attestation.current()).toBeNull();
      const task = world.engine.list(1)[0];
      expect(task?.kind).toBe('verify');
      await ended(world.engine, task!.task_id);
      const after = world.attested();
      expect(after.version).toBeGreaterThan(before.version);
      expect(after.official).toMatchObject({
        release_id: '1.0',
        snapshot_id: before.official?.snapshot_id,
        created_at: before.official?.created_at,
        current_since: before.official?.current_since,
        excluded_count: 2,
        result: 'PASSED',
      });
      world.upstream.opened.length = 0;
      expect((await world.act('sync')).result).toMatchObject({ unchanged: true, release_id: '1.0' });
      expect(world.upstream.opened).toEqual([]);
      world.upstream.releaseId = '2.0';
      expect((await world.act('sync')).result).toMatchObject({ release_id: '2.0' });
    });

    test('the server-info document of an adopted release recovers, and is attested once', async () => {
      const world = await createSyncedWorld();
      await world.restart({ database: 'lost' });
      await ended(world.engine, world.engine.list(1)[0]!.task_id);
      const document = world.upstream.serverInfo!.toString();
      await world.damage(document, document.toLowerCase());
      await world.act('verify', { force: true });
      expect(world.attested().official?.result).toBe('FAILED');
      await world.damage(document, document);
      await until(async () => {
        await world.clock.advance(RECHECK_MS);
        return world.attested().official?.result === 'PASSED';
      });
      expect(world.row('1.0')).toBe('current');
      expect(world.releases.repository.damagedObjects(10)).toEqual([]);
      const { version } = world.attested();
      for (let round = 0; round < 5; round += 1) {
        await world.clock.advance(RECHECK_MS);
        await setTimeout(20);
      }
      expect(world.attested().version).toBe(version);
    });

    test('a server-info document that is known to be damaged is not checked for each report', async () => {
      const world = await createSyncedWorld();
      await world.restart({ database: 'lost' });
      await ended(world.engine, world.engine.list(1)[0]!.task_id);
      const document = world.upstream.serverInfo!;
      await world.damage(document, 'bad');
      await world.act('verify', { force: true });
      const { version } = world.attested();
      const report = {
        blake3: blake3Hex(document),
        destination: 'server-info',
        kind: 'damaged',
        message: '',
      } as const;
      for (let round = 0; round < 3; round += 1) {
        expect(world.releases.reportDamage([report])).toEqual({ accepted: 1, ignored: 0 });
        await setTimeout(50);
      }
      expect(world.attested().version).toBe(version);
    });

    test('damage that nobody remembers is found before anything is attested', async () => {
      const world = await createSyncedWorld();
      await world.damage('two', 'tw0');
      await world.restart({ database: 'lost' });
      await ended(world.engine, world.engine.list(1)[0]!.task_id);
      expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'FAILED' });
      expect((await world.act('catalog-refresh')).status).toBe('succeeded');
      expect((await world.act('repair')).status).toBe('succeeded');
      expect(world.attested().official?.result).toBe('PASSED');
    });
  });

  test('a database restored from a backup is corrected by the newer attestation on the volume', async () => {
    const world = await createSyncedWorld();
    const file = world.database.path;
    world.database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
    await copyFile(file, `${file}.backup`);
    world.upstream.releaseId = '2.0';
    world.upstream.files.set('c', 'three');
    await world.act('sync');
    const before = world.attested();
    await world.restart({ backup: `${file}.backup` });
    await ended(world.engine, world.engine.list(1)[0]!.task_id);
    expect(world.attested().version).toBeGreaterThan(before.version);
    expect(world.attested().official).toMatchObject({ release_id: '2.0', result: 'PASSED' });
    expect(world.row('1.0')).toBe('superseded');
  });

  test('a volume that was replaced by an empty one is filled again by a sync', async () => {
    const world = await createSyncedWorld();
    const { store_id: lost, official } = world.attested();
    await world.restart({ volume: 'lost' });
    expect(world.attested()).toMatchObject({ version: 1, official: { release_id: '1.0', result: 'FAILED' } });
    expect(world.attested().store_id).not.toBe(lost);
    expect((await world.act('sync')).status).toBe('succeeded');
    expect(world.attested().official).toMatchObject({ snapshot_id: official?.snapshot_id, result: 'PASSED' });
    expect((await world.act('verify')).result).toMatchObject({ damaged: 0 });
  });

  test('a volume that cannot be written at boot does not keep sound releases from being attested', async () => {
    const world = await createSyncedWorld();
    const before = world.attested();
    for (const method of ['publishAttestation', 'removeStaging']) {
      world.script.broken.set(method, Object.assign(new Error('no'), { code: 'EROFS' }));
    }
    await mkdir(join(world.root, 'tmp', 'sync-dead'));
    await world.restart();
    expect(world.attested()).toMatchObject({ official: { release_id: '1.0', result: 'PASSED' } });
    expect(world.attested().version).toBeGreaterThan(before.version);
    expect(world.releases.diagnostics().find((check) => check.id === 'attestation')?.status).toBe('degraded');
    world.script.broken.clear();
    await until(async () => {
      // The daemon may begin to wait for its next look only now.
      await world.clock.advance(2000);
      return ((await world.onVolume())?.version ?? 0) > before.version;
    });
  });

  test('a lost database never makes a version return that was issued while the volume lagged', async () => {
    const world = await createSyncedWorld();
    world.script.broken.set('publishAttestation', Object.assign(new Error('no'), { code: 'ENOSPC' }));
    for (let renewal = 0; renewal < 3; renewal += 1) await world.act('refresh');
    const lagging = world.attested();
    expect((await world.onVolume())?.version).toBeLessThan(lagging.version);
    world.script.broken.clear();
    await world.restart({ database: 'lost' });
    await ended(world.engine, world.engine.list(1)[0]!.task_id);
    expect(world.attested().version).toBeGreaterThan(lagging.version);
  });

  test('an attestation on the volume with a foreign signature is not trusted', async () => {
    const world = await createSyncedWorld();
    const before = world.attested();
    await writeFile(
      join(world.root, 'attest/current.json'),
      '{"payloadType":"x","payload":"","signatures":[]}',
    );
    await world.restart();
    expect(world.attested()).toMatchObject({ version: before.version + 1, official: { release_id: '1.0' } });
  });
});

const STORE = '11111111-0000-4000-8000-000000000000';
const OTHER_STORE = '22222222-0000-4000-8000-000000000000';
const [OWN, OTHER] = [createKeyPair().signing, createKeyPair().signing];

/** What the database knows of a store. */
interface Known {
  readonly storeId: string;
  /** `null` for a store that was made and never attested. */
  readonly version: number | null;
}

/** The attestation on the volume, whose FORMAT names {@link STORE}. */
interface Attested {
  readonly storeId: string;
  readonly version: number;
  readonly key: typeof OWN;
}

async function decide(
  known: readonly Known[],
  attested: Attested | null,
  damage: (database: Database) => void = () => undefined,
): Promise<void> {
  const root = await temporaryDirectory();
  await writeFile(join(root, 'FORMAT'), renderStoreFormat(STORE));
  if (attested !== null) {
    const statement = sampleStatement({ store_id: attested.storeId, version: attested.version });
    await mkdir(join(root, 'attest'));
    await writeFile(
      join(root, 'attest/current.json'),
      signStatement(statement, [attested.key], SAMPLE_MANIFEST_SHA256),
    );
  }
  const database = openDatabase(':memory:');
  onTestFinished(() => {
    database.close();
  });
  const attestations = createAttestationRepository(database);
  for (const { storeId, version } of known) {
    attestations.reserve(storeId, version === null ? 0 : version + 10);
    const envelope = {
      payload_sha256: 'a'.repeat(64),
      envelope: Buffer.from('{}'),
      issued_at: 1,
      expires_at: 2,
    };
    if (version !== null) attestations.set(storeId, { version, ...envelope });
  }
  damage(database);
  await refuseForeignStore(root, { database, signingKeys: [OWN], dataFolder: '/the/data' });
}

describe('the store of another daemon', () => {
  it.each<readonly [string, readonly Known[], Attested | null]>([
    ['an empty data folder, whose keys attested it', [], { storeId: STORE, version: 7, key: OWN }],
    [
      'the data folder that attested it',
      [{ storeId: STORE, version: 7 }],
      { storeId: STORE, version: 7, key: OTHER },
    ],
    ['the data folder that made it and attested nothing', [{ storeId: STORE, version: null }], null],
    [
      'a data folder that made another one and attested nothing in it',
      [{ storeId: OTHER_STORE, version: null }],
      { storeId: STORE, version: 7, key: OWN },
    ],
    [
      'its data folder, although another daemon has put the attestation of its own store there',
      [{ storeId: STORE, version: 7 }],
      { storeId: OTHER_STORE, version: 99, key: OTHER },
    ],
  ])('a store belongs to %s', async (_who, known, attested) => {
    await decide(known, attested);
  });

  it.each<readonly [string, readonly Known[], Attested | null, string]>([
    [
      'an empty data folder with other keys',
      [],
      { storeId: STORE, version: 7, key: OTHER },
      'was attested by a daemon with other keys',
    ],
    [
      'a data folder that has attested another store, with the same keys',
      [{ storeId: OTHER_STORE, version: 7 }],
      { storeId: STORE, version: 7, key: OWN },
      `the data folder /the/data belongs to the store ${OTHER_STORE}`,
    ],
    [
      'a data folder that has attested another store, although nothing is attested there',
      [{ storeId: OTHER_STORE, version: 7 }],
      null,
      `the data folder /the/data belongs to the store ${OTHER_STORE}`,
    ],
    [
      'an empty data folder whose keys attested another store there',
      [],
      { storeId: OTHER_STORE, version: 7, key: OWN },
      `its attestation is for the store ${OTHER_STORE}`,
    ],
    [
      'a data folder from before other keys took it over',
      [{ storeId: STORE, version: 7 }],
      { storeId: STORE, version: 8, key: OTHER },
      'was attested by a daemon with other keys',
    ],
  ])('a store is refused to %s', async (_who, known, attested, reason) => {
    await expect(decide(known, attested)).rejects.toThrow(reason);
  });

  it.each([
    ['attestation', "payload_sha256 = 'nonsense'"],
    ['id', "store_id = 'not an id'"],
  ])(
    'a store stays its own when the row with its %s is damaged and an earlier store is known',
    async (_what, change) => {
      const error = vi.fn();
      const known = [OTHER_STORE, STORE].map((storeId) => ({ storeId, version: 7 }));
      await decide(known, { storeId: STORE, version: 7, key: OWN }, (database) => {
        database.prepare(`UPDATE attestation_state SET ${change} WHERE store_id = ?`).run(STORE);
        checkRowsAtStart(database, partial({ error }));
      });
      expect(error).toHaveBeenCalledTimes(1);
    },
  );
});

describe('the attempts of a recovery', () => {
  test('a volume that is not usable yet is retried, and tasks wait until it is', async () => {
    const clock = new FakeClock();
    let attempts = 0;
    let done = 0;
    const recovery = createRecoveryRun(
      async () => {
        attempts += 1;
        if (attempts < 3) throw new Error('EROFS');
      },
      clock,
      createSilentLogger(),
    );
    let ran = false;
    const writer = {
      confirmVolume: async () => {
        ran = true;
        throw new Error('EROFS');
      },
    };
    const [job] = implementReleaseJobs(
      { writer } as unknown as ReleaseParts,
      createUpstreamSource(null, vi.fn()),
      recovery,
    );
    const context = { args: {}, signal: new AbortController().signal } as unknown as TaskContext;
    const running = expect(job?.run(context)).rejects.toMatchObject({ code: 'store_unavailable' });
    await recovery.start(() => {
      done += 1;
    });
    expect([attempts, done, ran]).toEqual([1, 0, false]);
    await clock.advance(10_000);
    expect([attempts, done, ran]).toEqual([2, 0, false]);
    await clock.advance(10_000);
    await running;
    expect([attempts, done, ran]).toEqual([3, 1, true]);
    await recovery.stop();
  });

  test('a waiting task is cancelled, and stopping ends the attempts', async () => {
    const clock = new FakeClock();
    const recovery = createRecoveryRun(
      async () => {
        throw new Error('EROFS');
      },
      clock,
      createSilentLogger(),
    );
    await recovery.start(() => undefined);
    const cancelled = new AbortController();
    const waiting = recovery.done(cancelled.signal);
    cancelled.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
    await recovery.stop();
    expect(clock.sleeping).toBe(0);
  });
});
