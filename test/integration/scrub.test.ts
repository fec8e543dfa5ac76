import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flipBit } from '../support/flip-bit.ts';
import { expectOfficialAlone, publishPatches, writePatches } from '../support/patch-files.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem, WITHOUT_TEXTS } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const LARGE = 'MediaResources/Movie/Opening.mp4';

interface Scrubbed {
  readonly system: TestSystem;
  readonly stateFile: string;
  /** The exchange folder of the daemon. */
  readonly exchange: string;
}

/** Each test repairs its damage, or damages what no other test reads. */
const scrubbed = reusedFixture(async (atEnd): Promise<Scrubbed> => {
  const [upstream, exchange] = [await temporaryDirectory(atEnd), await temporaryDirectory(atEnd)];
  const stateFile = join(await temporaryDirectory(atEnd), 'scrub.json');
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { ...WITHOUT_TEXTS, exchange: { root: exchange } },
    server: { scrub: { enabled: true, bytesPerSecond: 1_000_000_000, share: 1, restSeconds: 1, stateFile } },
    atEnd,
  });
  await system.untilReady(true);
  return { system, stateFile, exchange };
});

async function metric(system: TestSystem, name: string): Promise<number> {
  const text = await (await fetch(system.metricsUrl)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

async function flipBitOf(
  system: TestSystem,
  destination: string,
  { position, channel = 'official' }: { readonly position: number; readonly channel?: string },
): Promise<void> {
  const url = `${system.serverUrl}/v1/distribution?limit=1000&channel=${channel}`;
  const { items } = (await (await fetch(url)).json()) as {
    items: Array<{ destination: string; blake3: string }>;
  };
  const digest = items.find((item) => item.destination === destination)!.blake3;
  await flipBit(join(system.snapshotRoot, 'objects', digest.slice(0, 2), digest.slice(2)), position);
}

describe('the scrub', () => {
  it('resumes at its old position after a restart', async () => {
    const { system, stateFile } = await scrubbed();
    await until(async () => (await metric(system, 'slipway_scrub_pass ')) >= 3);
    expect(await system.server.stop()).toBe(0);
    const { pass } = JSON.parse(await readFile(stateFile, 'utf8')) as { pass: number };
    expect(pass).toBeGreaterThanOrEqual(3);
    await system.startServer();
    await until(async () => (await metric(system, 'slipway_scrub_pass ')) >= pass);
    expect(await metric(system, 'slipway_scrub_completed_timestamp_seconds')).toBeGreaterThan(0);
    await system.untilReady(true);
  });

  it('finds damage in a file that nobody requests and turns every route until the repair', async () => {
    const { system } = await scrubbed();
    await until(async () => (await metric(system, 'slipway_scrub_completed_timestamp_seconds')) > 0);
    expect(await metric(system, 'slipway_scrub_damage_total')).toBe(0);
    await flipBitOf(system, LARGE, { position: 3_000_000 });
    const refused = await system.untilReady(false);
    expect(refused).toMatchObject({ reason: 'EntryDamaged' });
    expect(refused.message).toContain(LARGE);
    expect(await metric(system, 'slipway_scrub_damage_total{kind="damaged"}')).toBeGreaterThan(0);
    expect(await metric(system, 'slipway_cdn_damage_total')).toBe(0);
    for (const path of ['/v1/bootstrap', '/v1/launcher/bootstrap']) {
      expect((await fetch(`${system.serverUrl}${path}`)).status).toBe(503);
    }
    expect((await fetch(system.cdn('TableBundles/Excel.zip'))).status).toBe(503);
    await system.succeed('repair');
    await system.untilReady(true);
    expect((await fetch(system.cdn(LARGE))).status).toBe(200);
  });

  it('finds damage in a patched file that nobody requests, and withdraws the localized channel alone', async () => {
    const { system, exchange } = await scrubbed();
    await writePatches(exchange, 'r90_one', new Map([[LARGE, Buffer.alloc(2_000_000, 'patched')]]));
    const before = await metric(system, 'slipway_scrub_damage_total{kind="damaged"}');
    const localizedId = await publishPatches(system);
    await flipBitOf(system, LARGE, { position: 1_234_567, channel: 'localized' });
    await until(async () => (await metric(system, 'slipway_scrub_damage_total{kind="damaged"}')) > before);
    await until(async () => {
      const answer = await fetch(`${system.serverUrl}/v1/distribution?channel=localized`);
      return answer.status === 409;
    });
    expect(await metric(system, 'slipway_cdn_damage_total')).toBe(0);
    await expectOfficialAlone(system);
    await system.untilReady(true);
    expect((await fetch(system.cdn(LARGE))).status).toBe(200);
    expect((await fetch(system.cdn(LARGE).replace('r90_one', localizedId))).status).toBe(503);
  });
});
