import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StartError } from '../support/process.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { treeDigest } from '../support/tree-digest.ts';
import { until } from '../support/until.ts';

interface Running {
  readonly system: TestSystem;
  readonly upstream: string;
}

/** A daemon with its own keys, data folder and volume, on which a release was synced. */
async function running(): Promise<Running> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { ...WITHOUT_TEXTS, sync: { onStart: false } },
    startNothing: true,
  });
  await system.startDaemon();
  await system.succeed('sync');
  return { system, upstream };
}

async function release({ upstream }: Running, id: string): Promise<void> {
  const files = new Map(sampleFiles()).set('new.bin', Buffer.from(id));
  await writeReleaseTree(upstream, { id, files });
}

async function untilDaemonReady({ daemonUrl }: TestSystem): Promise<void> {
  await until(async () => (await fetch(`${daemonUrl}/readyz`)).status === 200);
}

async function untilCheck(system: TestSystem, id: string, message: string): Promise<void> {
  await until(async () => {
    const doctor = (await (await system.askDaemon('/v1/reports/daemon.doctor')).json()) as {
      readonly checks: ReadonlyArray<{ readonly id: string; readonly message: string }>;
    };
    return doctor.checks.find((check) => check.id === id)?.message.includes(message) === true;
  });
}

async function storeIdOf(root: string): Promise<string> {
  return (JSON.parse(await readFile(join(root, 'FORMAT'), 'utf8')) as { store_id: string }).store_id;
}

/** Starts the daemon, which must refuse to start. */
async function refusal(system: TestSystem): Promise<{ readonly code: number | null; readonly log: string }> {
  const error = await system.startDaemon().catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(StartError);
  const { code, lines } = (error as StartError).failed;
  return { code, log: lines.join('\n') };
}

describe('the store of another daemon at the path of the volume', () => {
  it(
    'is not written by a daemon that runs or starts there, and its own daemon opens it afterwards',
    { timeout: 600_000 },
    async () => {
      const [ours, others] = [await running(), await running()];
      const { system } = ours;
      expect(await others.system.daemon.stop()).toBe(0);
      const [root, foreign] = [system.snapshotRoot, others.system.snapshotRoot];
      const away = `${root}-away`;
      const [ownId, foreignId] = [await storeIdOf(root), await storeIdOf(foreign)];
      const before = await treeDigest(foreign);
      const swap = async (): Promise<void> => {
        await rename(root, away);
        await rename(foreign, root);
      };
      const swapBack = async (): Promise<void> => {
        await rename(root, foreign);
        await rename(away, root);
      };

      await swap();
      const reason = `it holds another store (${foreignId}) than that of this daemon (${ownId})`;
      await untilCheck(system, 'store.lease', reason);
      await untilCheck(system, 'store.writable', 'store_unavailable');
      await release(ours, 'r91_two');
      for (const action of ['sync', 'refresh', 'release-cleanup', 'verify']) await system.control(action);
      await untilCheck(system, 'store.format', reason);
      expect(await treeDigest(root)).toBe(before);

      // It continues without a restart. The first sync may be one that has used up its attempts.
      await swapBack();
      await until(async () => (await system.run('sync')).status === 'succeeded');

      expect(await system.daemon.stop()).toBe(0);
      await swap();
      const refused = await refusal(system);
      expect(refused.code).toBe(78);
      expect(refused.log).toContain(
        `holds the store ${foreignId}, but the data folder ${join(system.directory, 'data')} belongs to the store ${ownId}`,
      );
      expect(refused.log).toContain('start once with --adopt-store');
      expect(await treeDigest(root)).toBe(before);
      await swapBack();

      await others.system.startDaemon();
      await untilDaemonReady(others.system);
      await others.system.succeed('verify');
      await system.startDaemon();
      await untilDaemonReady(system);
      await system.succeed('verify');
    },
  );
});

describe('a volume under the data folder of an earlier one', () => {
  it(
    'that is an older copy is refused until a restart, which says so; one that is empty becomes a new store',
    { timeout: 600_000 },
    async () => {
      const ours = await running();
      const { system } = ours;
      const [root, copy] = [system.snapshotRoot, `${system.snapshotRoot}-copy`];
      await cp(root, copy, { recursive: true });
      await release(ours, 'r91_two');
      await system.succeed('sync');
      await rename(root, `${root}-away`);
      await rename(copy, root);
      const before = await treeDigest(root);
      await untilCheck(system, 'store.lease', 'it holds an older copy of the store');
      expect(await treeDigest(root)).toBe(before);
      await system.daemon.stop();
      await system.startDaemon();
      await untilDaemonReady(system);
      expect(system.daemon.lines.some((line) => line.includes('is older than the one in the database'))).toBe(
        true,
      );
      await system.succeed('sync');
      await system.succeed('verify');

      const store = await storeIdOf(root);
      expect(await system.daemon.stop()).toBe(0);
      await rm(root, { recursive: true });
      await mkdir(root);
      await system.startDaemon();
      await untilDaemonReady(system);
      expect(system.daemon.lines.some((line) => line.includes('the snapshot volume is empty'))).toBe(true);
      await system.succeed('sync');
      expect(await storeIdOf(root)).not.toBe(store);
    },
  );
});
