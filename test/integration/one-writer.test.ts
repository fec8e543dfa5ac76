import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeKeys } from '../support/make-keys.ts';
import { startSlipway, StartError, type SlipwayProcess } from '../support/process.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import type { AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type Readyz, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

/** A system with one synced release, whose server and daemon run. */
async function running(atEnd: AtEnd): Promise<TestSystem> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { ...WITHOUT_TEXTS, sync: { onStart: false } },
    startNothing: true,
    atEnd,
  });
  await system.startDaemon();
  await system.succeed('sync');
  return system;
}

/** Starts another daemon on the same volume. */
async function startSecond(
  system: TestSystem,
  atEnd: AtEnd,
  ...flags: readonly string[]
): Promise<SlipwayProcess> {
  const second = await startSlipway('daemon', [
    `--config=${system.daemonConfiguration}`,
    '--listen.port=0',
    '--requireToken=false',
    ...flags,
  ]);
  atEnd(async () => await second.kill());
  return second;
}

async function startWithOwnData(system: TestSystem, atEnd: AtEnd): Promise<SlipwayProcess> {
  return await startSecond(system, atEnd, `--data.dir=${join(await temporaryDirectory(atEnd), 'data')}`);
}

interface Attested {
  readonly version: number;
  readonly bootId: string;
}

async function onVolume(system: TestSystem): Promise<Attested> {
  const envelope = JSON.parse(await readFile(join(system.snapshotRoot, 'attest/current.json'), 'utf8')) as {
    payload: string;
  };
  const { predicate } = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8')) as {
    predicate: { version: number; verifier: { boot_id: string } };
  };
  return { version: predicate.version, bootId: predicate.verifier.boot_id };
}

async function leaseOf(system: TestSystem, epoch: number): Promise<Record<string, unknown>> {
  const text = await readFile(join(system.snapshotRoot, `lease/${epoch}`), 'utf8');
  return JSON.parse(text) as Record<string, unknown>;
}

async function health(url: string): Promise<{ boot_id: string; waiting_for?: string }> {
  const answer = await fetch(`${url}/healthz`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as { boot_id: string; waiting_for?: string };
}

async function isReady(url: string): Promise<boolean> {
  return (await fetch(`${url}/readyz`)).status === 200;
}

async function untilReady(daemon: SlipwayProcess): Promise<void> {
  await until(async () => await isReady(daemon.url));
}

async function untilStandby(daemon: SlipwayProcess): Promise<string> {
  return await until(async () => (await health(daemon.url)).waiting_for);
}

/** What a server serves beside a daemon: the version of its attestation, or `null`. */
async function serveBeside(
  system: TestSystem,
  daemon: SlipwayProcess,
  atEnd: AtEnd,
): Promise<() => Promise<number | null>> {
  const server = await startSlipway('server', [
    `--config=${system.serverConfiguration}`,
    `--daemon.url=${daemon.url}`,
    '--listen.port=0',
    '--metrics.port=0',
  ]);
  atEnd(async () => await server.kill());
  return async () => {
    const readiness = await fetch(`${server.url}/readyz`);
    const body = (await readiness.json()) as Readyz;
    return readiness.status === 200 ? (body.attestation?.version ?? null) : null;
  };
}

/** They wait for each other's constants most of the time, so they run at the same time. */
describe.concurrent('a second daemon on a snapshot volume', () => {
  it('waits as a standby, says for whom, and stops when it is asked to', async ({
    onTestFinished: atEnd,
  }) => {
    const system = await running(atEnd);
    const before = await onVolume(system);
    const second = await startWithOwnData(system, atEnd);
    const reason = `the daemon ${system.daemon.pid} on`;
    expect(await untilStandby(second)).toContain(reason);
    const readyz = await fetch(`${second.url}/readyz`);
    expect(readyz.status).toBe(503);
    expect(await readyz.json()).toMatchObject({
      ready: false,
      message: expect.stringContaining(reason) as unknown,
    });
    expect(await (await fetch(`${second.url}/v1/reports/daemon.doctor`)).json()).toMatchObject({
      status: 'degraded',
      checks: [
        { id: 'store.lease', message: expect.stringContaining(reason) as unknown },
        { id: 'data.space', status: 'ok' },
      ],
    });
    expect(second.lines.some((line) => line.includes('standby') && line.includes(reason))).toBe(true);
    const control = await fetch(`${second.url}/v1/control/release-cleanup`, { method: 'POST' });
    expect(control.status).toBe(503);
    const read = await fetch(`${second.url}/v1/reports/release.status`);
    expect(await read.json()).toMatchObject({
      code: 'standby',
      detail: expect.stringContaining(reason) as unknown,
    });
    expect(await onVolume(system)).toEqual(before);

    // The server beside it serves: the attestation of the holder is on the volume.
    expect(await (await fetch(`${second.url}/v1/attestation`)).json()).toMatchObject({ code: 'standby' });
    const attested = await serveBeside(system, second, atEnd);
    await until(async () => (await attested()) === before.version);
    await system.succeed('refresh');
    const renewed = (await onVolume(system)).version;
    expect(renewed).toBeGreaterThan(before.version);
    await until(async () => (await attested()) === renewed);

    expect(await second.stop()).toBe(0);
    expect(await isReady(system.daemonUrl)).toBe(true);
  });

  it('replaces a paused daemon, which writes nothing when it continues and ends', async ({
    onTestFinished: atEnd,
  }) => {
    const system = await running(atEnd);
    const before = await onVolume(system);
    const records = await readdir(join(system.snapshotRoot, 'releases/official'));
    const second = await startWithOwnData(system, atEnd);
    await untilStandby(second);
    system.daemon.signal('SIGSTOP');
    await untilReady(second);
    // It knows nothing of the versions of the first one, which may have been ahead of the volume.
    await until(async () => (await fetch(`${second.url}/v1/attestation`)).status === 200);
    const after = await onVolume(system);
    expect(after.version).toBeGreaterThan(before.version);
    expect(after.bootId).toBe((await health(second.url)).boot_id);
    expect(await readdir(join(system.snapshotRoot, 'releases/official'))).toEqual(records);
    // It has recovered from the other writer: the lease says so from its next renewal on.
    await until(async () => (await leaseOf(system, 2))['other_writer'] === false);
    system.daemon.signal('SIGCONT');
    expect(await system.daemon.exited).toBe(1);
    expect(system.daemon.lines.some((line) => line.includes('was lost to the daemon'))).toBe(true);
    // The second one may have renewed its attestation meanwhile.
    const last = await onVolume(system);
    expect(last.bootId).toBe(after.bootId);
    expect(last.version).toBeGreaterThanOrEqual(after.version);
    expect(await isReady(second.url)).toBe(true);
  });

  it('also waits for the same data folder, so that an upgrade can overlap', async ({
    onTestFinished: atEnd,
  }) => {
    const system = await running(atEnd);
    const second = await startSecond(system, atEnd);
    expect(await untilStandby(second)).toContain(`in use by another daemon (pid ${system.daemon.pid} on`);
    expect(await isReady(system.daemonUrl)).toBe(true);
    expect(await system.daemon.stop()).toBe(0);
    const last = await onVolume(system);
    await untilReady(second);
    expect((await onVolume(system)).version).toBeGreaterThan(last.version);
  });
});

describe.concurrent('a second supervised daemon on a data folder', () => {
  const startSupervised = async (system: TestSystem, atEnd: AtEnd): Promise<SlipwayProcess> => {
    const second = await startSlipway('daemon-supervisor', [
      `--config=${system.daemonConfiguration}`,
      '--listen.port=0',
      '--requireToken=false',
    ]);
    atEnd(async () => await second.kill());
    return second;
  };
  /** Boot and turn of the newest request for the data folder. */
  const request = async (system: TestSystem): Promise<readonly string[]> =>
    (await readFile(join(system.directory, 'data/daemon.handover'), 'utf8')).trim().split(' ');

  it('gets it from a daemon that has nothing to serve, which then waits and does not ask for it', async ({
    onTestFinished: atEnd,
  }) => {
    const system = await startSystem({
      upstream: { kind: 'none' },
      supervised: true,
      startNothing: true,
      atEnd,
    });
    await system.startDaemon();
    const second = await startSupervised(system, atEnd);
    expect(await untilStandby(second)).toContain('in use by another daemon');
    await untilReady(second);
    const { boot_id: boot } = await health(second.url);
    await until(async () => {
      const { waiting_for: reason } = await health(system.daemonUrl);
      return reason?.includes('in use by another daemon') === true;
    });
    expect((await request(system))[0]).toBe(boot);
    await until(() => system.daemon.lines.some((line) => line.includes('"code":75')));
    expect(system.daemon.lines.some((line) => line.includes('the daemon died'))).toBe(false);
    expect(await second.stop()).toBe(0);
    await untilReady(system.daemon);
  });

  it('waits while the first one has a release to serve', async ({ onTestFinished: atEnd }) => {
    const upstream = await temporaryDirectory(atEnd);
    await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
    const system = await startSystem({
      upstream: { kind: 'directory', directory: { path: upstream } },
      daemon: WITHOUT_TEXTS,
      supervised: true,
      atEnd,
    });
    await system.untilReady(true);
    const { boot_id: boot } = await health(system.daemonUrl);
    const second = await startSupervised(system, atEnd);
    await untilStandby(second);
    // It asks twice a second, for longer than a daemon with nothing to serve would keep the folder.
    await until(async () => Number((await request(system))[1]) > 50);
    expect(await health(system.daemonUrl)).toEqual(expect.objectContaining({ boot_id: boot }));
    expect(await untilStandby(second)).toContain('in use by another daemon');
  });
});

describe('a store that lost FORMAT', () => {
  it('gets it back from its own daemon; another daemon refuses the store', async ({
    onTestFinished: atEnd,
  }) => {
    const system = await running(atEnd);
    const path = join(system.snapshotRoot, 'FORMAT');
    const format = await readFile(path, 'utf8');
    expect(await system.daemon.stop()).toBe(0);
    await rm(path);
    const error = await startWithOwnData(system, atEnd).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(StartError);
    expect((error as StartError).failed.lines.join()).toContain('but not FORMAT: restore FORMAT');
    await system.startDaemon();
    await untilReady(system.daemon);
    expect(await readFile(path, 'utf8')).toBe(format);
    await system.succeed('verify');
  });
});

describe('a store that a daemon with other keys attested', () => {
  it('is refused, unless it is adopted or the database attested it', async ({ onTestFinished: atEnd }) => {
    const system = await running(atEnd);
    const before = await onVolume(system);
    expect(await system.daemon.stop()).toBe(0);
    const keys = await temporaryDirectory(atEnd);
    await makeKeys(keys);
    const foreign = [
      `--data.dir=${join(keys, 'data')}`,
      `--attestation.signingKeyFiles=${join(keys, 'signing.key')}`,
    ];
    const leases = join(system.snapshotRoot, 'lease');
    const leasesBefore = await readdir(leases);
    const temporary = join(system.snapshotRoot, 'attest', '.of-the-owner.tmp');
    await writeFile(temporary, 'half written');
    const error = await startSecond(system, atEnd, ...foreign).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(StartError);
    const { code, lines } = (error as StartError).failed;
    expect(code).toBe(78);
    expect(await readFile(temporary, 'utf8')).toBe('half written');
    expect(await readdir(leases)).toEqual(leasesBefore);
    expect(lines.some((line) => line.includes('was attested by a daemon with other keys'))).toBe(true);
    expect(lines.some((line) => line.includes('start once with --adopt-store'))).toBe(true);
    expect(await onVolume(system)).toEqual(before);

    // It is not foreign to the database that attested it, whichever key that signed with.
    const other = await temporaryDirectory(atEnd);
    await makeKeys(other);
    const signing = `--attestation.signingKeyFiles=${join(other, 'signing.key')}`;
    const rotated = await startSecond(system, atEnd, signing);
    await untilReady(rotated);
    expect(await rotated.stop()).toBe(0);
    const last = await onVolume(system);

    const adopted = await startSecond(system, atEnd, ...foreign, '--adopt-store');
    await until(async () => (await fetch(`${adopted.url}/v1/attestation`)).status === 200);
    expect((await onVolume(system)).version).toBeGreaterThan(last.version);
    expect(await adopted.stop()).toBe(0);
    // From now on it is the store of these keys.
    await untilReady(await startSecond(system, atEnd, ...foreign));
  });
});
