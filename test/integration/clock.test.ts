import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { IMAGE_NODE_OPTIONS } from '../support/image-node-options.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;

async function systemWithRelease(): Promise<TestSystem> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  return await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: WITHOUT_TEXTS,
    startNothing: true,
  });
}

/** A command that runs Node with a wall clock that is off by some milliseconds. */
async function withClockOff(system: TestSystem, ms: number): Promise<readonly string[]> {
  const file = join(system.directory, `clock-${ms}.mjs`);
  await writeFile(file, `const now = Date.now; Date.now = () => now() + ${ms};\n`);
  return ['env', `NODE_OPTIONS=${IMAGE_NODE_OPTIONS} --import=${file}`, `PATH=${process.env['PATH'] ?? ''}`];
}

async function readService({ serverUrl }: TestSystem): Promise<unknown> {
  const health = (await (await fetch(`${serverUrl}/healthz`)).json()) as { readonly service: unknown };
  return health.service;
}

interface Doctor {
  readonly checks: ReadonlyArray<{ readonly id: string; readonly status: string; readonly message: string }>;
}

async function checksOf(system: TestSystem): Promise<Readonly<Record<string, string>>> {
  const doctor = (await (await system.askDaemon('/v1/reports/daemon.doctor')).json()) as Doctor;
  return Object.fromEntries(doctor.checks.map(({ id, status }) => [id, status]));
}

it.each([
  ['behind', -HOUR_MS],
  ['ahead of', HOUR_MS],
])('names the clock of a daemon that is an hour %s that of the server', async (where, ms) => {
  const system = await systemWithRelease();
  await Promise.all([system.startDaemon(await withClockOff(system, ms)), system.startServer()]);
  await expect
    .poll(async () => await readService(system))
    .toMatchObject({
      reason: 'ClockOff',
      message: expect.stringContaining(`about 60 min ${where} that of this server`) as unknown,
      next_step: { text: expect.stringContaining('Correct the time service') as unknown },
    });
});

it('verifies again what a clock dated that was ahead, and attests it only then', async () => {
  const system = await systemWithRelease();
  await system.startDaemon(await withClockOff(system, HOUR_MS));
  const verifiedAt = async (): Promise<number | null> => {
    const answer = await system.askDaemon('/v1/reports/release.status');
    const { official = null } = (await answer.json()) as {
      readonly official?: { readonly verified_at: number | null } | null;
    };
    return official?.verified_at ?? null;
  };
  await until(async () => ((await verifiedAt()) ?? 0) * 1000 > Date.now() + HOUR_MS / 2);
  await system.daemon.stop();
  await Promise.all([system.startDaemon(), system.startServer()]);
  await system.untilReady(true);
  expect(await verifiedAt()).toBeLessThanOrEqual(Date.now() / 1000);
  await expect
    .poll(async () => await checksOf(system))
    .toMatchObject({ clock: 'ok', verification: 'ok', sync: 'ok' });
  await expect.poll(async () => await readService(system)).toMatchObject({ state: 'healthy' });
});
