import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AttestationStatement } from '../../src/domain/verdict/attestation.ts';
import { flipBit } from '../support/flip-bit.ts';
import { statementOf } from '../support/attested-files.ts';
import { expectOfficialAlone, publishPatches, writePatches } from '../support/patch-files.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const BAD = 'TableBundles/Excel.zip';

async function servedSystem(daemon: Readonly<Record<string, object>> = {}): Promise<TestSystem> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon,
  });
  await system.untilReady(true);
  return system;
}

async function objectPath(system: TestSystem, destination: string, channel = 'official'): Promise<string> {
  const query = new URLSearchParams({ destination, channel });
  const url = `${system.serverUrl}/v1/distribution?${query.toString()}`;
  const page = (await (await fetch(url)).json()) as { items: Array<{ blake3: string }> };
  const digest = page.items[0]!.blake3;
  return join(system.snapshotRoot, 'objects', digest.slice(0, 2), digest.slice(2));
}

async function report<Body>(system: TestSystem, name: string): Promise<Body> {
  return (await (await system.askDaemon(`/v1/reports/${name}`)).json()) as Body;
}

async function statement(system: TestSystem): Promise<AttestationStatement> {
  const answer = await system.askDaemon(`/v1/attestation`);
  return statementOf(new Uint8Array(await answer.arrayBuffer()));
}

interface Doctor {
  readonly status: string;
  readonly checks: ReadonlyArray<{ readonly id: string; readonly status: string; readonly message: string }>;
}

const verification = async (system: TestSystem): Promise<unknown> =>
  (await report<Doctor>(system, 'daemon.doctor')).checks.find(({ id }) => id === 'verification');

it('is found by a request to the server, and daemon, attestation and reports agree until the repair', async () => {
  const system = await servedSystem();
  const before = await statement(system);
  const url = system.cdn(BAD);
  await flipBit(await objectPath(system, BAD));
  expect((await fetch(url)).status).toBe(503);
  expect(await system.untilReady(false)).toMatchObject({ reason: 'EntryDamaged' });

  const failed = await until(async () => {
    const found = await statement(system);
    return found.official?.result === 'FAILED' ? found : null;
  });
  expect(failed.version).toBeGreaterThan(before.version);
  expect(failed.official?.failure).toEqual({ reason: 'EntryDamaged', entry_count: 1, examples: [BAD] });
  // The withdrawal keeps the reason that the server found first.
  await until(async () => {
    const { reason, message } = await system.untilReady(false);
    expect(reason).toBe('EntryDamaged');
    return message.includes('withdraws') && message.includes(`1 entry: ${BAD}`);
  });
  await expect
    .poll(async () => await verification(system))
    .toMatchObject({
      status: 'failing',
      message: `1 damaged file in release r90_one: ${BAD}. Run repair.`,
    });
  expect(await report(system, 'release.status')).toMatchObject({
    official: { integrity: 'damaged', damaged: [BAD], damaged_count: 1 },
    attestation: { authorizes: { official: null } },
  });
  expect(await report(system, 'release.list')).toMatchObject({
    releases: [{ state: 'damaged', artifact_integrity: { ok: false, damaged: 1, damaged_examples: [BAD] } }],
  });
  // The server accepted the new attestation: the release is still damaged, not merely unauthorized.
  await until(async () => (await system.untilReady(false)).attestation?.version === failed.version);
  expect(await system.untilReady(false)).toMatchObject({ reason: 'EntryDamaged' });
  expect((await fetch(url)).status).toBe(503);

  await system.succeed('repair');
  await system.untilReady(true);
  expect((await fetch(url)).status).toBe(200);
  expect((await statement(system)).official).not.toHaveProperty('failure');
  await expect.poll(async () => await verification(system)).toMatchObject({ status: 'ok' });
  expect(await report(system, 'release.status')).toMatchObject({
    official: { integrity: 'ok', damaged: [], damaged_count: 0 },
    attestation: { authorizes: { official: 'r90_one' } },
  });
});

it('of a patched file that a request finds withdraws the localized channel alone, until it is published again', async () => {
  const exchange = await temporaryDirectory();
  await writePatches(exchange, 'r90_one', new Map([[BAD, Buffer.from('patched')]]));
  const system = await servedSystem({ exchange: { root: exchange } });
  const localizedId = await publishPatches(system);
  const url = system.cdn(BAD).replace('r90_one', localizedId);
  expect(await (await fetch(url)).text()).toBe('patched');
  const before = await statement(system);
  await flipBit(await objectPath(system, BAD, 'localized'));
  expect((await fetch(url)).status).toBe(503);
  const failed = await until(async () => {
    const found = await statement(system);
    return found.localized?.result === 'FAILED' ? found : null;
  });
  expect(failed.version).toBeGreaterThan(before.version);
  expect(failed.localized?.failure).toEqual({ reason: 'EntryDamaged', entry_count: 1, examples: [BAD] });
  expect(failed.official).toMatchObject({ release_id: 'r90_one', result: 'PASSED' });
  await until(async () => (await system.untilReady(true)).attestation?.version === failed.version);
  await expectOfficialAlone(system);
  expect(await report(system, 'release.status')).toMatchObject({
    official: { integrity: 'ok' },
    attestation: { authorizes: { official: 'r90_one', localized: null } },
  });
  expect(await report(system, 'translation.status')).toMatchObject({
    current: { localized_release_id: localizedId, integrity: 'damaged' },
  });

  expect(await publishPatches(system)).toBe(localizedId);
  expect(await (await fetch(url)).text()).toBe('patched');
});
