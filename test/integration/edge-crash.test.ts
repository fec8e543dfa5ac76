import { describe, expect, it } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { bytesOf, startOrigin, untilServed, type OriginWithEdges } from '../support/edge.ts';
import { campaignSize, campaignTimeout } from '../support/long.ts';
import type { ReleaseFiles } from '../support/release-tree.ts';
import { passTime } from '../support/pass-time.ts';
import type { TestSystem } from '../support/system.ts';

const ROUNDS = campaignSize(3, 50);
const FILES = 60;
/** Files that are on their way at the same time. */
const CONCURRENCY = 2;

/** Release number `generation`: a tenth of the files are of it alone. */
function releaseFiles(generation: number): ReleaseFiles {
  return new Map(
    Array.from({ length: FILES }, (_, i) => {
      const version = i % 10 === generation % 10 ? generation : 0;
      return [nameOf(i), createRandom(1 + i * 1000 + version).bytes(2000 + i * 1500)];
    }),
  );
}

function nameOf(index: number): string {
  return `data/${String(index).padStart(3, '0')}.bin`;
}

/** The number of the release that a system serves now; it waits until there is one. */
async function generationOf(system: TestSystem): Promise<number> {
  return Number(((await system.untilReady(true)).release_id ?? '').replace(/^r/, ''));
}

/** How often each path of a file was sent whole. */
function sentWhole({ proxy }: OriginWithEdges): ReadonlyMap<string, number> {
  const sent = new Map<string, number>();
  for (const { path, status, range } of proxy.seen) {
    if (path.startsWith('/v1/') || status !== 200 || range !== null) continue;
    sent.set(path, (sent.get(path) ?? 0) + 1);
  }
  return sent;
}

describe('an edge whose processes are killed at random while it follows its origin', () => {
  it(
    `serves only whole releases, never an older one, and fetches what it has only once, ${ROUNDS} times`,
    { timeout: campaignTimeout(ROUNDS, 40_000) },
    async () => {
      const world = await startOrigin({ id: 'r0', files: releaseFiles(0) });
      const edge = await world.startEdge({ daemon: { upstream: { concurrency: CONCURRENCY } } });
      await untilServed(edge, 'r0');
      const random = createRandom(1907);
      let reached = 0;
      for (let round = 1; round <= ROUNDS; round += 1) {
        await world.publish(`r${round}`, releaseFiles(round));
        // The kill falls anywhere from before the look at the origin to after the switch.
        await passTime(random.below(1500));
        await Promise.all([edge.daemon.kill(), edge.server.kill()]);
        await Promise.all([edge.startDaemon(), edge.startServer()]);
        const generation = await generationOf(edge);
        expect(generation).toBeGreaterThanOrEqual(reached);
        reached = generation;
        const name = nameOf(random.below(FILES));
        const received = await bytesOf(edge, `r${generation}`, name);
        // It can switch between the two questions, and keeps the earlier release reachable meanwhile.
        expect(typeof received === 'number' ? received : blake3Hex(received)).toBe(
          blake3Hex(releaseFiles(generation).get(name)!),
        );
      }
      await untilServed(edge, `r${ROUNDS}`);
      for (const [name, bytes] of releaseFiles(ROUNDS)) {
        expect(await bytesOf(edge, `r${ROUNDS}`, name)).toEqual(bytes);
      }
      // A file that was on its way when the processes ended is fetched again, and no other.
      const again = [...sentWhole(world).values()].reduce((total, times) => total + times - 1, 0);
      expect(again).toBeLessThanOrEqual(ROUNDS * CONCURRENCY);
      const asked = [...sentWhole(world).keys()].length;
      expect(asked).toBeLessThanOrEqual(FILES + (ROUNDS * FILES) / 10);
    },
  );
});
