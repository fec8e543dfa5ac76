import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bytesOf, publicKeyOf, startOrigin, untilServed, type OriginWithEdges } from '../support/edge.ts';
import { sampleFiles } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const FILES = sampleFiles(1);
const NEXT = new Map([...FILES, ['TableBundles/Excel.zip', Buffer.from('new excel')]]);
const SERVER_INFO = { AddressablesCatalogUrlRoot: 'https://upstream.example/a' };

/** Runs the command that users run. */
function slipway(...argv: readonly string[]): string {
  return execFileSync(process.execPath, ['cmd/slipway.ts', ...argv], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

interface Gap {
  readonly world: OriginWithEdges;
  /** The side without a network. */
  readonly far: TestSystem;
  readonly folder: string;
  readonly key: string;
  /** Exports a release at the origin. @returns the file */
  readonly carry: (releaseId: string, ...more: readonly string[]) => string;
}

async function startGap(): Promise<Gap> {
  const world = await startOrigin({ id: 'r1', files: FILES, serverInfo: SERVER_INFO });
  const directory = await temporaryDirectory();
  const [folder, key] = [join(directory, 'bundles'), join(directory, 'origin.pub')];
  await copyFile(publicKeyOf(world.origin), key);
  const far = await startSystem({
    upstream: { kind: 'bundle', bundle: { path: folder, trustedKeys: [key], pollSeconds: 1 } },
  });
  const carry = (releaseId: string, ...more: readonly string[]): string => {
    const file = join(directory, `${releaseId}.tar`);
    slipway('export', releaseId, '--data', world.origin.snapshotRoot, '-o', file, ...more);
    return file;
  };
  return { world, far, folder, key, carry };
}

describe('a release that crosses an air gap', () => {
  it('is served byte for byte, and an incremental bundle follows it', async () => {
    const { world, far, folder, key, carry } = await startGap();
    slipway('import', carry('r1'), '--keys', key, '--to', folder);
    await untilServed(far, 'r1');
    for (const [destination, bytes] of FILES) expect(await bytesOf(far, 'r1', destination)).toEqual(bytes);
    const document = (await (await fetch(`${far.serverUrl}/v1/server-info`)).json()) as Record<
      string,
      unknown
    >;
    expect(document['AddressablesCatalogUrlRoot']).toMatch(`${far.serverUrl}/`);

    await world.publish('r2', NEXT);
    slipway(
      'import',
      carry('r2', '--since', 'r1'),
      '--keys',
      key,
      '--to',
      folder,
      '--data',
      far.snapshotRoot,
    );
    await untilServed(far, 'r2');
    for (const [destination, bytes] of NEXT) expect(await bytesOf(far, 'r2', destination)).toEqual(bytes);
    const checked = slipway('verify', far.snapshotRoot, '--keys', publicKeyOf(far));
    expect(checked).toMatch(/sound\n$/);
  });

  it('is refused when another key signed it, and nothing of it is served', async () => {
    const { far, folder, carry } = await startGap();
    const other = await startOrigin({ id: 'r9', files: NEXT });
    await mkdir(folder, { recursive: true });
    const file = carry('r1').replace('r1.tar', 'r9.tar');
    slipway('export', 'r9', '--data', other.origin.snapshotRoot, '-o', file);
    // Past the check of slipway import.
    await copyFile(file, join(folder, 'r9.tar'));
    expect((await far.run('sync')).failure_code).toBe('origin_untrusted');
    expect(await bytesOf(far, 'r9', 'TableBundles/Excel.zip')).not.toEqual(
      NEXT.get('TableBundles/Excel.zip'),
    );
    await far.untilReady(false);
  });

  it('says that an incremental bundle needs the release before it', async () => {
    const { world, far, folder, key, carry } = await startGap();
    await world.publish('r2', NEXT);
    const file = carry('r2', '--since', 'r1');
    expect(() => slipway('import', file, '--keys', key, '--to', folder)).toThrow('import that release first');
    expect(await readdir(folder)).toEqual([]);
    await copyFile(file, join(folder, 'r2.tar'));
    const { failure_code: code, failure_reason: reason } = await far.run('sync');
    expect([code, reason]).toEqual(['upstream_not_found', expect.stringContaining('exported --since')]);
    slipway('import', carry('r1'), '--keys', key, '--to', folder);
    await until(async () => (await far.run('sync')).status === 'succeeded');
    await untilServed(far, 'r2');
  });
});
