import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, rename, rm, symlink, truncate, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { flipBit } from '../support/flip-bit.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

async function startServed(atEnd: AtEnd): Promise<TestSystem> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: 'r90_one', files: new Map([...sampleFiles(), ...VICTIMS]) });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: WITHOUT_TEXTS,
    atEnd,
  });
  await system.untilReady(true);
  return system;
}

async function objectPath(system: TestSystem, destination: string): Promise<string> {
  const page = (await (
    await fetch(`${system.serverUrl}/v1/distribution?destination=${encodeURIComponent(destination)}`)
  ).json()) as { items: Array<{ blake3: string }> };
  const digest = page.items[0]!.blake3;
  return join(system.snapshotRoot, 'objects', digest.slice(0, 2), digest.slice(2));
}

/** How each fault changes the object behind the damaged entry. */
const FAULTS: ReadonlyArray<readonly [string, (path: string) => Promise<void>]> = [
  ['a flipped bit', async (path) => await flipBit(path, 3_000_000)],
  [
    'a flipped bit under the old times',
    async (path) => {
      await flipBit(path, 3_000_000);
      await utimes(path, 1, 1);
    },
  ],
  [
    'a truncated file',
    async (path) => {
      await chmod(path, 0o644);
      await truncate(path, 2_000_000);
    },
  ],
  ['a missing file', async (path) => await rm(path)],
  [
    'a directory in its place',
    async (path) => {
      await rm(path);
      await mkdir(path);
    },
  ],
  [
    'a FIFO in its place',
    async (path) => {
      await rm(path);
      execFileSync('mkfifo', [path]);
    },
  ],
  [
    'a symbolic link in its place',
    async (path) => {
      await rename(path, `${path}.moved`);
      await symlink(`${path}.moved`, path);
    },
  ],
];

/** One file for each fault, so that the server has not read it before. */
const VICTIMS = new Map<string, Buffer>(
  FAULTS.map(([name], index) => [`Victims/${name}.mp4`, createRandom(400 + index).bytes(3_500_000)]),
);

describe('damage on the volume', () => {
  /** Every test ends with a repair. */
  const servedSystem = reusedFixture(startServed);

  it.each(FAULTS)(
    '%s is never served, turns every route, and is undone by a repair',
    async (name, damage) => {
      const system = await servedSystem();
      const victim = `Victims/${name}.mp4`;
      const url = system.cdn(victim);
      await damage(await objectPath(system, victim));

      const { status, received } = await download(url);
      const original = VICTIMS.get(victim)!;
      // Either refused before the headers or cut in mid-stream. The received bytes are a prefix of the true bytes.
      expect(status === 503 || received.length < original.length).toBe(true);
      if (status === 200) expect(original.subarray(0, received.length).equals(received)).toBe(true);

      // The server finds the reason first. The daemon looks at the object itself and attests the same one.
      const expected = name.startsWith('a flipped bit') ? 'EntryDamaged' : 'EntryMissing';
      await until(async () => {
        const { reason, message } = await system.untilReady(false);
        expect(reason).toBe(expected);
        return message.includes('withdraws');
      });
      for (const route of ['/v1/bootstrap', '/v1/launcher/bootstrap', '/readyz']) {
        expect((await fetch(`${system.serverUrl}${route}`)).status).toBe(503);
      }
      expect((await fetch(`${system.serverUrl}/v1/distribution`)).status).toBe(409);
      expect((await fetch(system.cdn('empty.bytes'))).status).toBe(503);
      expect((await fetch(`${system.serverUrl}/healthz`)).status).toBe(200);

      await system.succeed('repair');
      await system.untilReady(true);
      const whole = await download(url);
      expect(whole.received.equals(original)).toBe(true);
    },
  );

  it('found by the single-entry check answers 409 and turns the verdict', async () => {
    const system = await servedSystem();
    await flipBit(await objectPath(system, 'TableBundles/Excel.zip'), 5);
    const answer = await fetch(`${system.serverUrl}/v1/distribution?destination=TableBundles/Excel.zip`);
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({ code: 'release_not_distributable', reason: 'EntryDamaged' });
    await system.untilReady(false);
    await system.succeed('repair');
    await system.untilReady(true);
  });

  it('found by the daemon withdraws the release', async () => {
    const system = await servedSystem();
    await flipBit(await objectPath(system, 'TableBundles/Excel.zip'), 5);
    const task = await system.run('verify');
    expect(task).toMatchObject({ status: 'failed', failure_code: 'damage_found', result: { damaged: 1 } });
    const verdict = await system.untilReady(false);
    expect(verdict.reason).toBe('EntryDamaged');
    expect(verdict.message).toContain('1 entry: TableBundles/Excel.zip');
    await system.succeed('repair');
    await system.untilReady(true);
  });

  it('of the manifest stops a server that starts on it, until a repair', async () => {
    const system = await servedSystem();
    await system.server.stop();
    const directory = join(system.snapshotRoot, 'manifests');
    const [name] = await readdir(directory);
    await flipBit(join(directory, name!), 200);
    await system.startServer();
    await expect.poll(async () => (await system.untilReady(false)).reason).toBe('ManifestDamaged');
    await system.succeed('repair');
    await system.untilReady(true);
  });

  it('of the manifest that is missing is named, and undone by a repair', async () => {
    const system = await servedSystem();
    await system.server.stop();
    const directory = join(system.snapshotRoot, 'manifests');
    const [name] = await readdir(directory);
    await rm(join(directory, name!));
    await system.startServer();
    await expect.poll(async () => (await system.untilReady(false)).reason).toBe('SnapshotMissing');
    await system.succeed('repair');
    await system.untilReady(true);
  });
});

async function download(url: string): Promise<{ status: number; received: Buffer }> {
  const response = await fetch(url);
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk);
  } catch (error) {
    // A connection that is cut in mid-stream is a correct result.
    if (!(error instanceof TypeError)) throw error;
  }
  return {
    status: response.status,
    received: response.status === 200 ? Buffer.concat(chunks) : Buffer.alloc(0),
  };
}
