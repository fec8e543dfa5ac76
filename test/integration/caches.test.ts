import { describe, expect, it } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { etagOf } from '../support/byte-path.ts';
import { CACHES, startCache } from '../support/caches.ts';
import { startServedProcess } from '../support/served-process.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { hasTool } from '../support/tools.ts';

const FILE = 'TableBundles/Excel.zip';
const bytes = createRandom(20_261_123).bytes(300_000);

const origin = sharedFixture(
  async (atEnd) =>
    await startServedProcess({
      fastPath: true,
      release: { releaseId: 'r1', files: { [FILE]: bytes } },
      atEnd,
    }),
);

describe.each(CACHES)('%s with the configuration of the guide', (program, language, debianPackage) => {
  it.skipIf(!hasTool(program, debianPackage))(
    'stores files, and answers ranges with exactly their bytes',
    async () => {
      const served = origin();
      const { port } = await startCache(program, language, served.port);
      const url = `http://127.0.0.1:${port}${served.target(FILE, 'r1')}`;
      const get = async (headers: Readonly<Record<string, string>> = {}) => {
        const answer = await fetch(url, { headers });
        const body = Buffer.from(await answer.arrayBuffer());
        return { status: answer.status, body, cache: answer.headers.get('x-cache') ?? '' };
      };
      const first = await get();
      expect([first.status, first.cache, first.body.equals(bytes)]).toEqual([
        200,
        expect.stringMatching(/^MISS/),
        true,
      ]);
      const second = await get();
      expect([second.status, second.cache, second.body.equals(bytes)]).toEqual([
        200,
        expect.stringMatching(/^HIT/),
        true,
      ]);
      const range = { range: 'bytes=1000-1999' };
      const part = await get(range);
      expect([part.status, part.body.equals(bytes.subarray(1000, 2000))]).toEqual([206, true]);
      const same = await get({ ...range, 'if-range': etagOf(bytes) });
      expect([same.status, same.body.equals(bytes.subarray(1000, 2000))]).toEqual([206, true]);
      const other = await get({ ...range, 'if-range': etagOf(Buffer.from('other')) });
      expect([other.status, other.body.equals(bytes)]).toEqual([200, true]);
      // The server would ask for a token.
      expect((await fetch(`http://127.0.0.1:${served.port}/admin/tasks`)).status).toBe(401);
      expect([403, 404]).toContain((await fetch(`http://127.0.0.1:${port}/admin/tasks`)).status);
    },
  );
});
