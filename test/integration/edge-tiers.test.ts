import { expect, it } from 'vitest';
import { bytesOf, publicKeyOf, startOrigin, untilServed } from '../support/edge.ts';
import { sampleFiles } from '../support/release-tree.ts';
import { startSystem } from '../support/system.ts';

const EXCEL = 'TableBundles/Excel.zip';

it('an edge is the origin of further edges, which trust its key and follow its switches', async () => {
  const files = sampleFiles(1);
  const world = await startOrigin({ id: 'r1', files });
  const first = await world.startEdge();
  const second = await startSystem({
    upstream: {
      kind: 'slipway',
      slipway: { url: first.serverUrl, trustedKeys: [publicKeyOf(first)], pollSeconds: 1 },
    },
  });
  await untilServed(second, 'r1');
  const next = Buffer.from('new excel');
  await world.publish('r2', new Map([...files, [EXCEL, next]]));
  await untilServed(second, 'r2');
  expect(await bytesOf(second, 'r2', EXCEL)).toEqual(next);
  const ids = await Promise.all(
    [world.origin, first, second].map(async ({ serverUrl }) => {
      const answer = await fetch(`${serverUrl}/v1/release`);
      return ((await answer.json()) as { release: { snapshot_id: string } }).release.snapshot_id;
    }),
  );
  expect(new Set(ids).size).toBe(1);
});
