import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEditSpool } from '../../src/localization/localized/freeze/edit-spool.ts';
import { ctl } from '../support/ctl.ts';
import { campaignPart } from '../support/long.ts';
import { startSlipway, type StartError } from '../support/process.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { CDN_HOST, startSystem, type Readyz, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTranslationSystem, type TranslationSystem } from '../support/translation-system.ts';
import { canMount, fill, mountTmpfs, tmpfs } from '../support/tmpfs.ts';
import { until } from '../support/until.ts';

interface OnTmpfs {
  readonly system: TestSystem;
  readonly upstream: string;
  readonly files: Map<string, Buffer>;
}

/** A system whose volume is a file system of this size, with a first release upstream. */
async function systemOnTmpfs(
  size: string,
  daemon: Readonly<Record<string, object>> = {},
  server: Readonly<Record<string, object>> = {},
  atEnd: AtEnd = onTestFinished,
): Promise<OnTmpfs> {
  const upstream = await temporaryDirectory(atEnd);
  const files = sampleFiles();
  await writeReleaseTree(upstream, { id: 'r90_one', files });
  const snapshotRoot = await tmpfs(size, atEnd);
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    snapshotRoot,
    daemon: { ...WITHOUT_TEXTS, ...daemon },
    server,
    atEnd,
  });
  return { system, upstream, files };
}

interface Doctor {
  readonly checks: ReadonlyArray<{ readonly id: string; readonly status: string; readonly message: string }>;
}

async function check(system: TestSystem, id: string): Promise<Doctor['checks'][number] | undefined> {
  const doctor = (await (await system.askDaemon('/v1/reports/daemon.doctor')).json()) as Doctor;
  return doctor.checks.find((each) => each.id === id);
}

/** The statuses of these checks in the metrics of the daemon. */
async function checkMetrics(system: TestSystem, ids: readonly string[]): Promise<readonly number[]> {
  const listening = system.daemon.lines.find((line) => line.includes('"daemon listening"')) ?? '{}';
  const { metrics_url: metricsUrl } = JSON.parse(listening) as { metrics_url: string };
  const lines = (await (await fetch(`${metricsUrl}/metrics`)).text()).split('\n');
  return ids.map((id) => {
    const beginning = `slipway_daemon_check_status{check="${id}"} `;
    return Number(lines.find((line) => line.startsWith(beginning))?.slice(beginning.length));
  });
}

/** The state of the service that a server tells. */
async function readService({ serverUrl }: TestSystem): Promise<Readonly<Record<string, unknown>>> {
  const { service } = (await (await fetch(`${serverUrl}/healthz`)).json()) as {
    readonly service: Readonly<Record<string, unknown>>;
  };
  return service;
}

function versionOnVolume(system: TestSystem): number {
  const envelope = JSON.parse(readFileSync(join(system.snapshotRoot, 'attest/current.json'), 'utf8')) as {
    payload: string;
  };
  const statement = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8')) as {
    predicate: { version: number };
  };
  return statement.predicate.version;
}

/** The daemon renews every 3.3 s. */
const SHORT = { attestation: { ttlSeconds: 10 }, metrics: { host: '127.0.0.1', port: 0 } };
/** They take longer than an attestation is valid. */
const RENEWALS = 4;

/** Waits for longer than an attestation is valid, and expects the server to be ready all the time. */
async function expectRenewals(system: TestSystem): Promise<number> {
  const since = (await system.untilReady(true)).attestation?.version ?? 0;
  const outages: Array<string | null> = [];
  const reached = await until(async () => {
    const { distributable, reason, attestation } = (await (
      await fetch(`${system.serverUrl}/readyz`)
    ).json()) as Readyz;
    if (!distributable) outages.push(reason);
    const version = attestation?.version ?? 0;
    return version >= since + RENEWALS ? version : null;
  });
  expect(outages).toEqual([]);
  return reached;
}

describe.skipIf(!canMount())('the volume', () => {
  /** For syncs that fail, and leave the system as it was. */
  const small = reusedFixture(async (atEnd) => await systemOnTmpfs('32m', {}, {}, atEnd));

  it('full: the sync fails with the reason and the old release stays served', async () => {
    const { system, upstream, files } = await small();
    const before = await system.untilReady(true);
    const next = new Map(files).set('Windows_PatchPack/huge.bundle', Buffer.alloc(40 * 1024 * 1024, 1));
    await writeReleaseTree(upstream, { id: 'r91_two', files: next });
    expect(await system.run('sync')).toMatchObject({ status: 'failed', failure_code: 'no_space' });
    expect((await system.untilReady(true)).snapshot_id).toBe(before.snapshot_id);
    expect((await fetch(system.cdn('TableBundles/Excel.zip'))).status).toBe(200);
  });

  it('full although it seemed to have enough space: the same', async () => {
    const { system, upstream, files } = await small();
    const before = await system.untilReady(true);
    // Other files on the same volume use up the rest, including the inodes.
    try {
      writeFileSync(join(system.snapshotRoot, 'filler'), Buffer.alloc(32 * 1024 * 1024));
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
    }
    await writeReleaseTree(upstream, {
      id: 'r91_two',
      files: new Map(files).set('new.bin', Buffer.alloc(500_000, 3)),
    });
    expect(await system.run('sync')).toMatchObject({ status: 'failed', failure_code: 'no_space' });
    expect((await system.untilReady(true)).snapshot_id).toBe(before.snapshot_id);
    unlinkSync(join(system.snapshotRoot, 'filler'));
  });

  it('read-only: the daemon reports it, the server keeps serving, and both recover', async () => {
    const { system, upstream, files } = await small();
    await system.untilReady(true);
    execFileSync('mount', ['-o', 'remount,ro', system.snapshotRoot]);
    await writeReleaseTree(upstream, {
      id: 'r91_two',
      files: new Map(files).set('new.bin', Buffer.alloc(9, 3)),
    });
    expect(await system.run('sync')).toMatchObject({ status: 'failed', failure_code: 'read_only' });
    expect((await fetch(system.cdn('TableBundles/Excel.zip'))).status).toBe(200);
    execFileSync('mount', ['-o', 'remount,rw', system.snapshotRoot]);
    await system.succeed('sync');
    await expect.poll(async () => (await system.untilReady(true)).release_id).toBe('r91_two');
  });

  it('read-only: every surface says so while files are served, and none does a moment after the repair', async () => {
    const tokenFile = join(await temporaryDirectory(), 'admin.token');
    writeFileSync(tokenFile, 'a-token-of-the-test-0123456789abcdef\n', { mode: 0o600 });
    // The next renewal is minutes away.
    const { system } = await systemOnTmpfs('1500m', {}, { admin: { tokenFiles: [tokenFile] } });
    const ask = async (...args: readonly string[]): Promise<string> =>
      (await ctl([...args, '--url', system.serverUrl, '--token-file', tokenFile])).out;
    await system.untilReady(true);
    execFileSync('mount', ['-o', 'remount,ro', system.snapshotRoot]);
    await system.run('refresh');
    await expect
      .poll(async () => await readService(system))
      .toMatchObject({ state: 'degraded', reason: 'VolumeUnwritable' });
    expect(await ask('status')).toContain('degraded (VolumeUnwritable)');
    for (const id of ['service', 'store.writable', 'attestation'])
      expect(await ask('doctor')).toMatch(new RegExp(`^${id} +(?:failing|degraded) `, 'm'));
    expect((await fetch(system.cdn('TableBundles/Excel.zip'))).status).toBe(200);
    execFileSync('mount', ['-o', 'remount,rw', system.snapshotRoot]);
    await expect.poll(async () => await readService(system)).toMatchObject({ state: 'healthy' });
    expect(await ask('status')).toMatch(/^state: +healthy$/m);
    const doctor = await ask('doctor');
    for (const id of ['service', 'store.writable', 'attestation'])
      expect(doctor).toMatch(new RegExp(`^${id} +ok `, 'm'));
  });

  const atFirstStart = [
    ['full', 'no_space', 'free space on the volume'],
    ['without inodes', 'no_space', 'free space on the volume'],
    ['read-only', 'read_only', 'mount the snapshot volume read-write'],
  ] as const;
  it.each(campaignPart(atFirstStart, 2))(
    '%s at the first start: the doctor says so, and the daemon continues when it can be written',
    async (state, code, advice) => {
      const snapshotRoot = await temporaryDirectory();
      mountTmpfs(snapshotRoot, state === 'without inodes' ? '8m,nr_inodes=1' : '8m');
      if (state === 'full') fill(snapshotRoot);
      else if (state === 'read-only') execFileSync('mount', ['-o', 'remount,ro', snapshotRoot]);
      const system = await startSystem({ upstream: { kind: 'none' }, snapshotRoot, startNothing: true });
      await system.startDaemon();
      const message = (await check(system, 'store.lease'))?.message;
      expect(message).toContain(`the snapshot volume ${snapshotRoot} cannot be used: ${code} (`);
      expect(message).toContain(advice);
      const options = { full: 'size=16m', 'without inodes': 'nr_inodes=10k', 'read-only': 'rw' }[state];
      execFileSync('mount', ['-o', `remount,${options ?? ''}`, snapshotRoot]);
      await until(async () => (await check(system, 'store.format'))?.status === 'ok');
    },
  );

  const dataAtFirstStart = [
    ['full', 'data', 'ENOSPC', 'free space'],
    ['read-only', 'data', 'data_read_only', 'give the daemon write access to data.dir'],
    ['read-only', 'data/below', 'data_read_only', 'give the daemon write access to data.dir'],
  ] as const;
  it.each(campaignPart(dataAtFirstStart, 2))(
    '%s data folder at the first start (%s): the daemon names it, says what to do and ends with 1',
    async (state, folder, what, advice) => {
      const system = await startSystem({
        upstream: { kind: 'none' },
        startNothing: true,
      });
      const data = join(system.directory, 'data');
      mkdirSync(data);
      mountTmpfs(data, '64k');
      if (state === 'full') fill(data);
      else execFileSync('mount', ['-o', 'remount,ro', data]);
      const failed = await startSlipway('daemon', [
        `--config=${system.daemonConfiguration}`,
        `--data.dir=${join(system.directory, folder)}`,
      ]).then(
        () => null,
        (error: unknown) => (error as StartError).failed,
      );
      expect(failed?.code).toBe(1);
      const { msg } = JSON.parse(failed?.lines.find((line) => line.includes('"level":"fatal"')) ?? '{}') as {
        msg: string;
      };
      expect(msg).toContain(data);
      expect(msg).toContain(what);
      expect(msg).toContain(advice);
    },
  );
});

/** They wait for renewals most of the time, so they run at the same time. */
describe.skipIf(!canMount())('a volume or a data folder', { concurrent: true }, () => {
  const unwritable = [
    ['full', 'no_space'],
    // Renewals on it are proved in `test/unit/releases/attestations.test.ts`, what is told about it above.
    ['read-only', 'read_only'],
  ] as const;
  it.for<readonly [string, string]>(campaignPart<(typeof unwritable)[number]>(unwritable, 2))(
    'a %s volume: attestations are still renewed, the doctor says that the envelope lags, and no version returns',
    async ([state, code], { expect, onTestFinished: atEnd }) => {
      const { system } = await systemOnTmpfs('24m', SHORT, {}, atEnd);
      await system.untilReady(true);
      if (state === 'full') fill(system.snapshotRoot);
      else execFileSync('mount', ['-o', 'remount,ro', system.snapshotRoot]);
      const lagging = versionOnVolume(system);
      const version = await expectRenewals(system);
      expect(versionOnVolume(system)).toBe(lagging);
      expect(await check(system, 'attestation')).toMatchObject({
        status: 'degraded',
        message: expect.stringMatching(
          `envelope on the volume is version ${lagging} and lags: ${code} `,
        ) as unknown,
      });
      expect(await check(system, 'store.writable')).toMatchObject({
        status: 'failing',
        message: expect.stringContaining(code) as unknown,
      });
      expect(await checkMetrics(system, ['attestation', 'store.writable'])).toEqual([1, 2]);
      // A full volume needs no space for the lease.
      const lease = await check(system, 'store.lease');
      if (state === 'full') expect(lease).toMatchObject({ status: 'ok' });

      // The daemon dies and starts again on the same volume.
      await system.daemon.kill();
      await system.startDaemon();
      await expect
        .poll(async () => (await system.untilReady(true)).attestation?.version ?? 0)
        .toBeGreaterThan(version);
      if (state === 'full') unlinkSync(join(system.snapshotRoot, 'filler'));
      else execFileSync('mount', ['-o', 'remount,rw', system.snapshotRoot]);
      await expect.poll(() => versionOnVolume(system)).toBeGreaterThan(version);
      await expect.poll(async () => (await check(system, 'attestation'))?.status).toBe('ok');
      expect(await checkMetrics(system, ['attestation'])).toEqual([0]);
    },
  );

  it('a full data folder: attestations are renewed, also after a crash, and everything else says data_full', async ({
    expect,
    onTestFinished: atEnd,
  }) => {
    const upstream = await temporaryDirectory(atEnd);
    await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
    const system = await startSystem({
      upstream: { kind: 'directory', directory: { path: upstream } },
      daemon: SHORT,
      startNothing: true,
      atEnd,
    });
    const data = join(system.directory, 'data');
    mkdirSync(data);
    mountTmpfs(data, '100m', atEnd);
    await Promise.all([system.startDaemon(), system.startServer()]);
    await system.untilReady(true);
    expect(await readService(system)).toMatchObject({ state: 'healthy' });
    fill(data);
    // Within seconds, before a task or the doctor notices, which looks once a minute.
    await expect
      .poll(async () => await readService(system))
      .toMatchObject({ state: 'degraded', reason: 'DataVolumeFull' });
    expect(await check(system, 'data.space')).toMatchObject({ status: 'failing' });
    expect(await check(system, 'store.space')).toMatchObject({
      status: expect.not.stringMatching('failing') as unknown,
    });
    // The log of the database has some room left.
    const refusal = await until(async () => {
      const answer = await system.askDaemon('/v1/control/verify', { method: 'POST' });
      return answer.status === 202 ? null : { status: answer.status, body: (await answer.json()) as object };
    });
    expect(refusal).toMatchObject({ status: 409, body: { code: 'data_full' } });
    await expectRenewals(system);
    expect(await check(system, 'attestation')).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining('the database cannot store the envelope: data_full') as unknown,
    });
    expect(await check(system, 'data.writable')).toMatchObject({
      status: 'failing',
      message: expect.stringContaining('data_full') as unknown,
    });
    // The daemon dies and starts again on the same data folder, with other schedules.
    await system.daemon.kill();
    fill(data);
    writeFileSync(system.daemonConfiguration, 'verify: { intervalSeconds: 7200 }\n', { flag: 'a' });
    await system.startDaemon();
    // Its start may take longer than the last attestation is valid.
    await until(async () => (await fetch(`${system.daemonUrl}/readyz`)).ok);
    await expectRenewals(system);
    expect(await check(system, 'data.writable')).toMatchObject({
      message: expect.stringContaining('data_full') as unknown,
    });
    unlinkSync(join(data, 'filler'));
    await expect.poll(async () => (await check(system, 'attestation'))?.status).toBe('ok');
    await expect
      .poll(async () => await (await system.askDaemon('/v1/reports/schedule.list')).text())
      .toContain('"every_seconds":7200');
    await system.succeed('verify');
    await expect
      .poll(async () => await readService(system))
      .toMatchObject({ state: 'healthy', reason: null });
  });

  it('a full data folder: a daemon that stopped cleanly waits for space, and every surface says so', async ({
    expect,
    onTestFinished: atEnd,
  }) => {
    const upstream = await temporaryDirectory(atEnd);
    await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
    const system = await startSystem({
      upstream: { kind: 'directory', directory: { path: upstream } },
      startNothing: true,
      atEnd,
    });
    const data = join(system.directory, 'data');
    mkdirSync(data);
    mountTmpfs(data, '100m', atEnd);
    await Promise.all([system.startDaemon(), system.startServer()]);
    await system.untilReady(true);
    // Without its log, a database must make a file before it can be read.
    await system.daemon.stop();
    fill(data);
    await system.startDaemon();
    await expect
      .poll(async () => await readService(system))
      .toMatchObject({
        state: 'degraded',
        reason: 'DataVolumeFull',
        next_step: { text: expect.stringContaining('Enlarge the volume of data.dir') as unknown },
      });
    expect(await check(system, 'data.space')).toMatchObject({ status: 'failing' });
    expect(await check(system, 'store.lease')).toMatchObject({
      message: expect.stringMatching(/data.* cannot be used: data_full .*; free space/) as unknown,
    });
    expect(system.daemon.lines.join('\n')).toContain('data_full');
    expect((await fetch(system.cdn('TableBundles/Excel.zip'))).status).toBe(200);
    unlinkSync(join(data, 'filler'));
    await expect
      .poll(async () => await readService(system))
      .toMatchObject({ state: 'healthy', reason: null });
    await system.succeed('verify');
  });
});

describe.skipIf(!canMount())('a publish of translations', () => {
  const full = [
    [
      'snapshot volume',
      'snapshotRoot',
      'no_space',
      'free space on the volume, for example with release-cleanup',
    ],
    ['data folder', 'dataDirectory', 'data_full', 'free space on the volume of data.dir'],
  ] as const;
  it.each(campaignPart<(typeof full)[number]>(full, 2))(
    'on a full %s fails with the cause, the release before it stays, and the next one succeeds',
    async (_what, option, code, advice) => {
      const folder = await tmpfs('100m');
      const localization = await startTranslationSystem(
        { 'a.json': ['おはよう'] },
        {},
        onTestFinished,
        {},
        { [option]: folder },
      );
      const { system } = localization;
      await acceptText(localization, '早上好');
      await system.run('localized-publish', { from_worker: true });
      await untilLocalized(system, '早上好');
      await acceptText(localization, '早安');
      fill(folder);
      expect(await failureOf(localization)).toMatchObject({
        code,
        message: expect.stringMatching(advice) as unknown,
      });
      await untilLocalized(system, '早上好');
      unlinkSync(join(folder, 'filler'));
      // The daemon notices within seconds that it can store again.
      await until(async () => {
        const { status } = await localization.act('localized-publish', { from_worker: true });
        return status === 202;
      });
      await untilLocalized(system, '早安');
    },
  );

  it('says data_full when its edits do not fit into the data folder', async () => {
    const folder = await tmpfs('1m');
    const spool = createEditSpool(join(folder, 'edits'));
    fill(folder);
    const container = {
      destination: 'a.json',
      contentKey: Buffer.alloc(16),
      blake3: Buffer.alloc(32),
      bytes: 1,
      rulesDigest: Buffer.alloc(32),
      parserVersion: '1',
    };
    const edit = {
      unitId: 'tu1_a',
      archiveEntry: null,
      pathId: null,
      fieldPath: '/0',
      source: 'あ',
      target: 'x',
    };
    const writing = async (): Promise<void> => {
      await spool.add(container, edit);
      await spool.end();
    };
    await expect(writing()).rejects.toMatchObject({
      code: 'data_full',
      message: expect.stringContaining('free space on the volume of data.dir') as unknown,
    });
    await spool.close();
  });
});

/** Accepts a text as the translation of the one unit. */
async function acceptText(localization: TranslationSystem, text: string): Promise<void> {
  const { task_id } = await localization.task('a.json');
  const [unit] = await localization.units('a.json');
  const results = [{ unit_id: unit?.unit_id, source_text: unit?.source_text, translated_text: text }];
  const translated = { task_id, status: 'translated', translation_results: results };
  expect((await localization.act('translation-task-update', translated)).status).toBe(202);
  const accepted = { task_id, reviewer: 'Rin', status: 'proofread' };
  expect((await localization.act('translation-proofread', accepted)).status).toBe(202);
}

/** Waits until the localized channel serves the file with this text. */
async function untilLocalized({ serverUrl }: TestSystem, text: string): Promise<void> {
  await until(async () => {
    const answer = await fetch(`${serverUrl}/v1/distribution?channel=localized`);
    if (!answer.ok) return false;
    const { release_id: id } = (await answer.json()) as { release_id: string };
    const file = await fetch(`${serverUrl}/${CDN_HOST}/${id}/a.json`);
    return file.ok && (await file.text()).includes(`"${text}"`);
  });
}

/** Why a publish fails: its task, or already its request. */
async function failureOf(localization: TranslationSystem): Promise<{ code: unknown; message: unknown }> {
  const { status, body } = await localization.act('localized-publish', { from_worker: true });
  if (status !== 202) return { code: body['code'], message: body['detail'] };
  return await until(async () => {
    const { task = {} } = await localization.report('task.status', { task_id: String(body['task_id']) });
    const { status: end, failure_code: code, failure_reason: message } = task as Record<string, unknown>;
    return end === 'failed' ? { code, message } : null;
  });
}
