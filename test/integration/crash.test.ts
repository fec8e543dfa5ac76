import { describe, expect, it } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { runVerify } from '../../src/cli/verify/verify.ts';
import { campaignSize, campaignTimeout } from '../support/long.ts';
import { writeReleaseTree } from '../support/release-tree.ts';
import { passTime } from '../support/pass-time.ts';
import { startSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROUNDS = campaignSize(3, 300);

/** Release number `generation`. Most files stay and a tenth change, so that every sync has work to do. */
function releaseFiles(generation: number): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let i = 0; i < 120; i += 1) {
    const version = i % 10 === generation % 10 ? generation : 0;
    files.set(
      `data/${String(i).padStart(3, '0')}.bin`,
      createRandom(1 + i * 1000 + version).bytes(2000 + i * 700),
    );
  }
  return files;
}

describe('both processes killed at random during a sync', () => {
  it(
    `lose nothing acknowledged and serve nothing unsound, ${ROUNDS} times`,
    { timeout: campaignTimeout(ROUNDS, 30_000) },
    async () => {
      const upstream = await temporaryDirectory();
      await writeReleaseTree(upstream, { id: 'r0', files: releaseFiles(0) });
      const system = await startSystem({ upstream: { kind: 'directory', directory: { path: upstream } } });
      await system.untilReady(true);
      const random = createRandom(99);
      let acknowledged = 0;
      for (let round = 1; round <= ROUNDS; round += 1) {
        await writeReleaseTree(upstream, { id: `r${round}`, files: releaseFiles(round) });
        const { task_id } = await system.control('sync');
        // The kill falls anywhere from before the first read to after the switch.
        await passTime(random.below(400));
        await Promise.all([system.daemon.kill(), system.server.kill()]);
        await Promise.all([system.startDaemon(), system.startServer()]);
        const ready = await system.untilReady(true);
        const generation = Number((ready.release_id ?? '').replace(/^r(\d+).*$/, '$1'));
        expect(generation).toBeGreaterThanOrEqual(acknowledged);
        acknowledged = generation;
        // The accepted task is still known, whatever its result.
        const known = await system.askDaemon(`/v1/reports/task.status?task_id=${task_id}`);
        expect(known.status).toBe(200);
        const name = `data/${String(random.below(120)).padStart(3, '0')}.bin`;
        const response = await fetch(system.cdn(name));
        const bytes = Buffer.from(await response.arrayBuffer());
        expect(response.status === 200 || response.status === 404).toBe(true);
        if (response.status === 200) expect(bytes.equals(releaseFiles(generation).get(name)!)).toBe(true);
      }
      await system.succeed('sync');
      await expect.poll(async () => (await system.untilReady(true)).release_id).toBe(`r${ROUNDS}`);
      const output: string[] = [];
      const io = {
        stdout: { write: (text: string) => output.push(text) > 0 },
        stderr: { write: () => true },
      };
      expect([await runVerify([system.snapshotRoot, '--json'], io), output.join('')]).toEqual([
        0,
        expect.anything(),
      ]);
    },
  );
});
