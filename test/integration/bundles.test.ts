import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exportBundle, makeAttestedStore } from '../support/bundles.ts';
import { bytesOf, publicKeyOf, startOrigin, untilServed } from '../support/edge.ts';
import { sampleFiles } from '../support/release-tree.ts';
import { startSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const FILES = sampleFiles(1);
const NEXT = new Map([...FILES, ['TableBundles/Excel.zip', Buffer.from('new excel')]]);
const THIRD = new Map([...FILES, ['TableBundles/Excel.zip', Buffer.from('newest excel')]]);
const SERVER_INFO = { AddressablesCatalogUrlRoot: 'https://upstream.example/a' };

/** Runs the command that users run. */
function slipway(...argv: readonly string[]): string {
  return execFileSync(process.execPath, ['cmd/slipway.ts', ...argv], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

it('a release crosses an air gap: nothing of another key, nothing without its base, then every byte', async () => {
  const world = await startOrigin({ id: 'r1', files: FILES, serverInfo: SERVER_INFO });
  const directory = await temporaryDirectory();
  const [folder, key] = [join(directory, 'bundles'), join(directory, 'origin.pub')];
  await copyFile(publicKeyOf(world.origin), key);
  // The side without a network.
  const far = await startSystem({
    upstream: { kind: 'bundle', bundle: { path: folder, trustedKeys: [key], pollSeconds: 1 } },
  });
  /** Exports a release at the origin. @returns the file */
  const carry = (releaseId: string, ...more: readonly string[]): string => {
    const file = join(directory, `${releaseId}.tar`);
    slipway('export', releaseId, '--data', world.origin.snapshotRoot, '-o', file, ...more);
    return file;
  };

  const foreign = await makeAttestedStore(join(directory, 'foreign'));
  await foreign.release({ releaseId: 'r9', files: Object.fromEntries(NEXT) });
  await mkdir(folder, { recursive: true });
  // Past the check of slipway import.
  await exportBundle(foreign, 'r9', join(folder, 'r9.tar'));
  // The first sync can be one that began before.
  await until(async () => (await far.run('sync')).failure_code === 'origin_untrusted');
  expect(await bytesOf(far, 'r9', 'TableBundles/Excel.zip')).not.toEqual(NEXT.get('TableBundles/Excel.zip'));
  await far.untilReady(false);
  await rm(join(folder, 'r9.tar'));

  const first = carry('r1');
  await world.publish('r2', NEXT);
  const second = carry('r2', '--since', 'r1');
  expect(() => slipway('import', second, '--keys', key, '--to', folder)).toThrow('import that release first');
  expect(await readdir(folder)).toEqual([]);
  await copyFile(second, join(folder, 'r2.tar'));
  await until(async () => {
    const { failure_code: code, failure_reason: reason } = await far.run('sync');
    return code === 'upstream_not_found' && reason?.includes('exported --since') === true;
  });

  slipway('import', first, '--keys', key, '--to', folder);
  await untilServed(far, 'r2');
  for (const [destination, bytes] of NEXT) expect(await bytesOf(far, 'r2', destination)).toEqual(bytes);
  const document = (await (await fetch(`${far.serverUrl}/v1/server-info`)).json()) as Record<string, unknown>;
  expect(document['AddressablesCatalogUrlRoot']).toMatch(`${far.serverUrl}/`);

  await world.publish('r3', THIRD);
  const third = carry('r3', '--since', 'r2');
  slipway('import', third, '--keys', key, '--to', folder, '--data', far.snapshotRoot);
  await untilServed(far, 'r3');
  for (const [destination, bytes] of THIRD) expect(await bytesOf(far, 'r3', destination)).toEqual(bytes);
  const checked = slipway('verify', far.snapshotRoot, '--keys', publicKeyOf(far));
  expect(checked).toMatch(/all releases intact\n$/);
});
