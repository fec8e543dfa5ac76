import { readFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import {
  largeUpstreamDestination,
  largeUpstreamEntry,
  startLargeUpstream,
} from '../support/large-upstream.ts';
import { campaignSize } from '../support/long.ts';
import { startSystem } from '../support/system.ts';

const ENTRIES = campaignSize(4000, 200_000);
const MIB = 1024 * 1024;
/** Most of the memory of the small campaign does not depend on the number of entries. */
const MOST_OF_DAEMON = campaignSize(350, 400) * MIB;
const MOST_OF_SERVER = campaignSize(200, 300) * MIB;

it(
  'a release of many entries is synced, served and replaced, in bounded memory',
  { timeout: 900_000 },
  async () => {
    const upstream = await startLargeUpstream(ENTRIES);
    onTestFinished(() => upstream.stop());
    const system = await startSystem({
      upstream: { kind: 'manifest', manifest: { url: upstream.url }, concurrency: 16 },
      measuresMemory: true,
    });
    const first = await system.untilReady(true, 600_000);
    expect(first.release_id).toBe('scale-1');

    const last = (await (
      await fetch(`${system.serverUrl}/v1/distribution?offset=${ENTRIES - 1}&limit=10`)
    ).json()) as { total: number; items: unknown[]; next_offset: number | null };
    expect([last.total, last.items.length, last.next_offset]).toEqual([ENTRIES, 1, null]);

    upstream.publish(2);
    await system.succeed('sync', {}, 300_000);
    await expect.poll(async () => (await system.untilReady(true)).release_id).toBe('scale-2');
    for (const index of [0, 1, 100, ENTRIES / 2, ENTRIES - 1]) {
      const response = await fetch(system.cdn(largeUpstreamDestination(index)));
      expect(await response.text()).toBe(largeUpstreamEntry(index, 2));
    }
    // The bench reports the figures; this test checks the order of magnitude on any machine.
    expect(await peakMemory(system.daemon.pid)).toBeLessThan(MOST_OF_DAEMON);
    expect(await peakMemory(system.server.pid)).toBeLessThan(MOST_OF_SERVER);
  },
);

async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}
