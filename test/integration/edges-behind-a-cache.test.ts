import { describe, expect, it } from 'vitest';
import { CACHES, startCache } from '../support/caches.ts';
import { bytesOf, startOrigin, untilServed, type OriginWithEdges } from '../support/edge.ts';
import { campaignPart } from '../support/long.ts';
import { sampleFiles } from '../support/release-tree.ts';
import type { TestSystem } from '../support/system.ts';
import { hasTool } from '../support/tools.ts';
import { until } from '../support/until.ts';

const FILES = sampleFiles(1);
const NEXT = new Map([...FILES, ['TableBundles/Excel.zip', Buffer.from('new excel')]]);

/** The paths of files that the origin sent, in order. */
function filesSent({ proxy }: OriginWithEdges): string[] {
  return proxy.seen
    .map(({ path }) => path)
    .filter((path) => !path.startsWith('/v1/'))
    .sort();
}

async function expectFiles(edge: TestSystem, id: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const [destination, bytes] of files) expect(await bytesOf(edge, id, destination)).toEqual(bytes);
}

const portOf = (url: string): number => Number(new URL(url).port);

describe('edges behind a cache', () => {
  it.each(
    campaignPart(
      CACHES.filter(([program]) => program !== 'squid'),
      2,
    ),
  )(
    '%s with the configuration of the guide: the origin sends each file once for two edges, and their looks stay small',
    async (program, language, debianPackage) => {
      if (!hasTool(program, debianPackage)) return;
      const world = await startOrigin({ id: 'r1', files: FILES });
      const { port } = await startCache(program, language, portOf(world.proxy.url));
      const slipway = { url: `http://127.0.0.1:${port}` };
      const edges = await Promise.all([world.startEdge({ slipway }), world.startEdge({ slipway })]);
      for (const edge of edges) {
        await untilServed(edge, 'r1');
        await expectFiles(edge, 'r1', FILES);
      }
      expect(new Set(filesSent(world)).size).toBe(FILES.size);
      expect(filesSent(world)).toHaveLength(FILES.size);

      // The conditions of the edges pass the cache: while nothing changes, an answer has no body.
      world.proxy.seen.length = 0;
      await until(() => world.proxy.seen.filter(({ status }) => status === 304).length >= 4);
      const looks = world.proxy.seen.filter(({ path }) => path === '/v1/release');
      expect(looks.filter(({ status }) => status === 304).every(({ bytes }) => bytes === 0)).toBe(true);

      world.proxy.seen.length = 0;
      await world.publish('r2', NEXT);
      for (const edge of edges) {
        await untilServed(edge, 'r2');
        await expectFiles(edge, 'r2', NEXT);
      }
      expect(filesSent(world)).toHaveLength(1);
    },
  );

  it.skipIf(!hasTool('nginx', 'nginx'))(
    'that answers with an old release: an edge stays where it is, and never goes back',
    async () => {
      const world = await startOrigin({ id: 'r1', files: FILES });
      /** A cache that somebody has told to store what changes. */
      const storing = (configuration: string): string => {
        const wrong = configuration.replace(
          /(location \/v1\/ \{\n\s+proxy_pass http:\/\/slipway;)/,
          '$1 proxy_cache slipway; proxy_ignore_headers Cache-Control; proxy_cache_valid 200 1h;',
        );
        expect(wrong).not.toBe(configuration);
        return wrong;
      };
      const cache = await startCache('nginx', 'nginx', portOf(world.proxy.url), storing);
      const edge = await world.startEdge({ slipway: { url: `http://127.0.0.1:${cache.port}` } });
      await untilServed(edge, 'r1');
      await world.publish('r2', NEXT);
      // The edge sees the stored answer only, so nothing is new to it.
      await edge.succeed('sync');
      await untilServed(edge, 'r1');
      await expectFiles(edge, 'r1', FILES);

      await cache.change((configuration) => configuration);
      await untilServed(edge, 'r2');
      await cache.change(storing);
      await until(async () => (await edge.run('sync')).failure_code === 'origin_rolled_back');
      await untilServed(edge, 'r2');
      await expectFiles(edge, 'r2', NEXT);
    },
  );
});
