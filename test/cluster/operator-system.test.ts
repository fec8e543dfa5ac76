import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { FAKE_TOKEN } from '../support/fake-slipway.ts';
import { kubeTools } from '../support/kube-tools.ts';
import { sharedOperatorWorld } from '../support/operator-world.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const missing = kubeTools('etcd', 'kube-apiserver') === null;

/** A real daemon and a real server whose admin surface accepts the token of the fakes. */
async function realSystem(): Promise<TestSystem> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const token = join(await temporaryDirectory(), 'token');
  await writeFile(token, `${FAKE_TOKEN}\n`);
  return await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    // Automatic repair would end the damage before it is reported.
    daemon: { sync: { onStart: false }, repair: { automatic: false } },
    server: { admin: { tokenFiles: [token], exposeControl: true } },
  });
}

describe.skipIf(missing)('an operator with a real server and its daemon', () => {
  const world = sharedFixture(sharedOperatorWorld);

  it('syncs on request, schedules, reports damage and its repair, and cleans up', async () => {
    const system = await realSystem();
    const namespace = await world().createNamespace();
    const { port } = new URL(system.serverUrl);
    await world().expose(namespace, 'slipway', [{ port: Number(port) }]);
    await world().startOperator(namespace);
    const spec = { sync: { interval: '1h' }, verify: { interval: '24h' }, retention: { keep: 2 } };
    await world().apply(namespace, 'official', spec);
    await world().apply(namespace, 'localized', { channel: 'localized', release: 'l1' });
    await world().untilCondition(namespace, 'official', 'Attested', 'False', 'ReleaseNotAuthorized');

    await world().apply(namespace, 'official', spec, { 'slipway.dev/requestedAt': 'first' });
    const status = await world().untilCondition(namespace, 'official', 'Ready', 'True');
    expect(status.release).toMatchObject({ id: 'r90_one' });
    expect(status.history).toMatchObject([{ id: 'r90_one', state: 'current', damaged: 0 }]);
    await until(
      async () => (await world().get(namespace, 'official'))?.status?.lastHandledReconcileAt === 'first',
    );
    // The daemon cannot publish localized releases yet or has nothing to publish. The status quotes its error.
    await world().untilCondition(namespace, 'localized', 'Stalled', 'True');

    const schedules = async (): Promise<string[]> => {
      const answer = await fetch(`${system.serverUrl}/admin/schedules`, {
        headers: { authorization: `Bearer ${FAKE_TOKEN}` },
      });
      const { items } = (await answer.json()) as { items: Array<{ id: string; every_seconds: number }> };
      // The daemon has configured schedules of its own.
      return items
        .filter(({ id }) => id.startsWith('relch:'))
        .map(({ id, every_seconds: every }) => `${id} ${every}`);
    };
    await until(async () => (await schedules()).length === 3);
    expect(await schedules()).toEqual([
      `relch:${namespace}:official:cleanup 86400`,
      `relch:${namespace}:official:sync 3600`,
      `relch:${namespace}:official:verify 86400`,
    ]);

    const objects = join(system.snapshotRoot, 'objects');
    const [folder = ''] = await readdir(objects);
    const [object = ''] = await readdir(join(objects, folder));
    await rm(join(objects, folder, object));
    await system.run('verify');
    await world().untilCondition(namespace, 'official', 'Serving', 'False');
    await system.run('repair');
    await world().untilCondition(namespace, 'official', 'Ready', 'True');

    await world().remove(namespace, 'official');
    await until(async () => (await world().get(namespace, 'official')) === null);
    await until(async () => (await schedules()).length === 0);
  });
});
