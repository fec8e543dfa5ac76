import type { ReleaseCheck } from '../../../src/releases/checks/release-check.ts';
import { partial } from '../../support/partial.ts';
import { chmod, rename, writeFile } from 'node:fs/promises';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ReportBodyOf, ReportName } from '../../../src/contract/reports/reports.ts';
import { askReport } from '../../support/reports.ts';
import type { ReportedObject } from '../../../src/contract/formats/damage-report.ts';
import { createDamageAttestation, createReleaseDamage } from '../../../src/releases/checks/release-damage.ts';
import { createWithdrawalRecheck, RECHECK_MS } from '../../../src/releases/checks/withdrawal-recheck.ts';
import {
  createStoredObjectInspector,
  type StoredObjectInspector,
} from '../../../src/releases/checks/stored-object-inspector.ts';
import { createDamageReports, type DamageReports } from '../../../src/releases/checks/damage-reports.ts';
import type { ObjectRegistry } from '../../../src/releases/records/object-registry.ts';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { objectPath } from '../../../src/snapshot/volume/layout.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { until } from '../../support/until.ts';
import { createWorld, type World } from '../../support/release-world.ts';
import { StoreLeaseLostError } from '../../../src/snapshot/volume/lease-errors.ts';

async function synced(): Promise<World> {
  const world = await createWorld();
  world.upstream.files = new Map([
    ['a.zip', 'one'],
    ['b.zip', 'two'],
    ['copy/b.zip', 'two'],
  ]);
  await world.act('sync');
  expect(world.attested().official).toMatchObject({ release_id: '1.0', result: 'PASSED' });
  return world;
}

function reportOf(content: string): ReportedObject {
  return {
    blake3: blake3Hex(Buffer.from(content)),
    destination: 'told by the server',
    kind: 'damaged',
    message: 'block 0 differs',
  };
}

/** Replaces the object of these bytes, as an administrator with a backup does. */
async function restore(world: World, content: string): Promise<void> {
  const path = objectPath(world.root, blake3Hex(Buffer.from(content)));
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

async function untilFailed(world: World): Promise<void> {
  await until(() => world.attested().official?.result === 'FAILED');
}

/** Lets the recheck run until the official release has this result. */
async function recheckedUntil(world: World, result: 'PASSED' | 'FAILED'): Promise<void> {
  await until(async () => {
    await world.clock.advance(RECHECK_MS);
    return world.attested().official?.result === result;
  });
}

async function advanceRounds(world: World, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await world.clock.advance(RECHECK_MS);
    await setTimeout(20);
  }
}

/** An inspector over the world's volume. */
function inspectorOf(world: World): StoredObjectInspector {
  const pool = createHashPool({ threads: 1 });
  onTestFinished(async () => await pool.close());
  return createStoredObjectInspector({
    root: world.root,
    storeId: world.attested().store_id,
    pool,
    objects: world.releases.objects,
    releases: world.releases.repository,
  });
}

function partsOf(
  world: World,
): Omit<Parameters<typeof createDamageReports>[0], 'inspector'> & { readonly objects: ObjectRegistry } {
  const { repository: releases, objects, attestor } = world.releases;
  const damage = createReleaseDamage({
    database: world.database,
    releases,
    objects,
    clock: world.clock,
  });
  const attestation = createDamageAttestation(attestor);
  const check: ReleaseCheck = partial({
    quick: () => Promise.reject(new Error('the test reports no manifest')),
    record: () => Promise.reject(new Error('the test reports no manifest')),
  });
  return { releases, objects, attestation, damage, check, logger: createSilentLogger() };
}

/** The check of reports, with an inspection that the test controls. */
function checkOf(
  world: World,
  inspect: (blake3: Blake3Hex) => ReturnType<StoredObjectInspector['inspect']>,
): { readonly check: DamageReports; readonly inspected: Blake3Hex[] } {
  const inspected: Blake3Hex[] = [];
  const check = createDamageReports({
    ...partsOf(world),
    inspector: partial({
      inspect: async (blake3) => {
        inspected.push(blake3);
        return await inspect(blake3);
      },
    }),
  });
  onTestFinished(async () => await check.stop());
  return { check, inspected };
}

const reports = async <N extends ReportName>(world: World, name: N): Promise<ReportBodyOf<N>> =>
  await askReport(world.releases.reports, name);

const verification = (world: World): unknown =>
  world.releases.diagnostics().find(({ id }) => id === 'verification');

describe('damage that a server reports', () => {
  test('withdraws the release with its reason, and every report agrees', async () => {
    const world = await synced();
    await world.damage('two', 'twO');
    expect(world.releases.reportDamage([reportOf('two')])).toEqual({ accepted: 1, ignored: 0 });
    await untilFailed(world);
    expect(world.attested().official).toMatchObject({
      release_id: '1.0',
      result: 'FAILED',
      failure: { reason: 'EntryDamaged', entry_count: 2, examples: ['b.zip', 'copy/b.zip'] },
    });
    expect(await world.onVolume()).toEqual(world.attested());
    expect(verification(world)).toMatchObject({
      status: 'failing',
      message: '2 damaged files in release 1.0: b.zip and 1 more. Run repair.',
    });
    expect((await reports(world, 'release.status')).official).toMatchObject({
      integrity: 'damaged',
      damaged: ['b.zip', 'copy/b.zip'],
      damaged_count: 2,
    });
    expect((await reports(world, 'release.list')).releases).toMatchObject([
      {
        state: 'damaged',
        artifact_integrity: { ok: false, damaged: 2, damaged_examples: ['b.zip', 'copy/b.zip'] },
      },
    ]);
    expect(world.releases.repository.damageOf('official', '1.0', 1)).toMatchObject([
      { status: 'digest_mismatch', found_by: 'server' },
    ]);
    await world.act('repair');
    expect(world.attested().official).not.toHaveProperty('failure');
    expect(verification(world)).toMatchObject({ status: 'ok' });
  });

  test('withdraws the release soon when the first attempt to attest failed', async () => {
    const world = await synced();
    // Any other error of the volume does not keep the envelope from being issued.
    world.script.broken.set('publishAttestation', new StoreLeaseLostError('another daemon'));
    await world.damage('two', 'twO');
    world.releases.reportDamage([reportOf('two')]);
    await until(() => world.releases.diagnostics().find(({ id }) => id === 'attestation')?.status !== 'ok');
    expect(world.attested().official?.result).toBe('PASSED');
    world.script.broken.clear();
    await recheckedUntil(world, 'FAILED');
    // The report and the retry may both attest, when they come to it; nothing does afterwards, far from the next renewal.
    await until(async () => {
      const { version } = world.attested();
      await advanceRounds(world, 3);
      return world.attested().version === version;
    });
  });

  test('a missing object is named as missing', async () => {
    const world = await synced();
    await world.damage('one', null);
    world.releases.reportDamage([reportOf('one')]);
    await untilFailed(world);
    expect(world.attested().official?.failure).toEqual({
      reason: 'EntryMissing',
      entry_count: 1,
      examples: ['a.zip'],
    });
    expect(verification(world)).toMatchObject({
      message: '1 missing file in release 1.0: a.zip. Run repair.',
    });
  });

  test('damage next to missing entries is reported as damage, and the newest attestation counts both', async () => {
    const world = await synced();
    await world.damage('one', null);
    await world.damage('two', 'twO');
    world.releases.reportDamage([reportOf('one'), reportOf('two'), reportOf('two')]);
    await until(() => world.attested().official?.failure?.entry_count === 3);
    expect(world.attested().official?.failure?.reason).toBe('EntryDamaged');
  });

  test('is not trusted: an object that the daemon reads as sound stays in service', async () => {
    const world = await synced();
    const bench = checkOf(world, async () => 'ok');
    expect(bench.check.take([reportOf('one'), reportOf('two')])).toEqual({ accepted: 2, ignored: 0 });
    await bench.check.stop();
    expect(bench.inspected).toEqual([reportOf('one').blake3, reportOf('two').blake3]);
    expect(world.releases.repository.damagedObjects(10)).toEqual([]);
    expect(world.row('1.0')).toBe('current');
  });

  test('is checked once for each object, two concurrently', async () => {
    const world = await createWorld();
    const names = Array.from({ length: 8 }, (_, at) => `file ${at}`);
    world.upstream.files = new Map(names.map((name) => [name, name]));
    await world.act('sync');
    let [running, most] = [0, 0];
    const bench = checkOf(world, async () => {
      running += 1;
      most = Math.max(most, running);
      await nextTurn();
      running -= 1;
      return 'ok';
    });
    const all = names.map(reportOf);
    expect(bench.check.take([...all, ...all])).toEqual({ accepted: 16, ignored: 0 });
    await until(() => bench.inspected.length === 8 && running === 0);
    expect(most).toBe(2);
    expect([...bench.inspected].sort()).toEqual(all.map(({ blake3 }) => blake3).sort());
  });

  test('about a digest that no release holds is ignored', async () => {
    const world = await synced();
    await world.damage('two', 'twO');
    expect(world.releases.reportDamage([reportOf('foreign'), reportOf('two')])).toEqual({
      accepted: 1,
      ignored: 1,
    });
    await untilFailed(world);
    expect(world.releases.objects.get(reportOf('foreign').blake3)).toBeNull();
  });

  test('says nothing about the release when the whole volume is unavailable', async () => {
    const world = await synced();
    const away = `${world.root}-away`;
    await rename(world.root, away);
    const inspector = inspectorOf(world);
    const checked: unknown[] = [];
    const bench = checkOf(world, async (blake3) => {
      const found = inspector.inspect(blake3, new AbortController().signal);
      await found.catch((error: unknown) => checked.push(error));
      return await found;
    });
    bench.check.take([reportOf('two')]);
    await bench.check.stop();
    expect(checked).toHaveLength(1);
    expect(world.row('1.0')).toBe('current');
    await rename(away, world.root);
    expect(await inspector.inspect(reportOf('two').blake3, new AbortController().signal)).toBe('ok');
  });
});

describe('damaged objects', () => {
  test('that were replaced with the right bytes no longer withdraw the release', async () => {
    const world = await synced();
    await world.damage('two', 'twO');
    world.releases.reportDamage([reportOf('two')]);
    await untilFailed(world);
    await restore(world, 'two');
    await recheckedUntil(world, 'PASSED');
    expect(world.row('1.0')).toBe('current');
    expect(verification(world)).toMatchObject({ status: 'ok' });
    expect(world.releases.repository.damagedObjects(10)).toEqual([]);
  });

  test('that were replaced with other wrong bytes still do, also after a restart', async () => {
    const world = await synced();
    await world.damage('one', null);
    await world.damage('two', 'twO');
    await world.act('verify');
    await restore(world, 'one');
    await chmod(objectPath(world.root, blake3Hex(Buffer.from('two'))), 0o644);
    await world.damage('two', 'Two');
    await until(async () => {
      await world.clock.advance(RECHECK_MS);
      return world.attested().official?.failure?.entry_count === 2;
    });
    expect(world.row('1.0')).toBe('damaged');
    await world.restart();
    expect(world.attested().official?.failure).toMatchObject({ reason: 'EntryDamaged', entry_count: 2 });
    await restore(world, 'two');
    await recheckedUntil(world, 'PASSED');
  });

  test('are hashed again only when their files change', async () => {
    const world = await synced();
    await world.damage('two', 'twO');
    await world.act('verify');
    const clock = new FakeClock();
    const inspector = inspectorOf(world);
    let hashes = 0;
    const recheck = createWithdrawalRecheck({
      ...partsOf(world),
      inspector: {
        stamp: (blake3) => inspector.stamp(blake3),
        inspect: async () => {
          hashes += 1;
          return 'digest_mismatch';
        },
      },
      writer: partial({ flush: async () => undefined }),
      clock,
    });
    onTestFinished(async () => await recheck.stop());
    recheck.start();
    await until(async () => {
      await clock.advance(RECHECK_MS);
      return hashes === 1;
    });
    for (let round = 0; round < 20; round += 1) {
      await clock.advance(RECHECK_MS);
      await setTimeout(2);
    }
    expect(hashes).toBe(1);
    await world.damage('two', 'Two');
    await until(async () => {
      await clock.advance(RECHECK_MS);
      return hashes === 2;
    });
  });
});

test('damage of the manifest is reported as such', async () => {
  const world = await synced();
  const { snapshot_id: snapshotId } = world.attested().official ?? {};
  await world.damageManifest(snapshotId ?? '');
  await world.act('verify');
  expect(world.attested().official?.failure).toEqual({
    reason: 'ManifestDamaged',
    entry_count: 0,
    examples: [],
  });
  expect(verification(world)).toMatchObject({ status: 'failing' });
});

test('tells when releases become damaged or sound again, and not when more of their damage is found', async () => {
  const world = await createWorld();
  world.upstream.files = new Map([
    ['a', 'one'],
    ['b', 'two'],
  ]);
  await world.act('sync');
  let told = 0;
  const { damage, objects } = partsOf(world);
  damage.onSoundnessChanged(() => (told += 1));
  const [one, two] = ['one', 'two'].map((content) => blake3Hex(Buffer.from(content)));
  for (const blake3 of [one, one, two])
    await damage.report([{ blake3: blake3!, status: 'missing' }], 'verify');
  expect([told, world.row('1.0')]).toEqual([1, 'damaged']);
  objects.confirm(one!, 1);
  damage.reassess();
  expect([told, world.row('1.0')]).toEqual([1, 'damaged']);
  objects.confirm(two!, 1);
  damage.reassess();
  expect([told, world.row('1.0')]).toEqual([2, 'current']);
});
