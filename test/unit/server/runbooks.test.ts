import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../src/contract/problems/problem-schema.ts';
import { startAdminServer } from '../../support/admin-client.ts';

const CDN_FILE = '/prod-clientpatch.bluearchiveyostar.com/film.mp4';

describe('runbooks.url', () => {
  it('is where problems of every surface and the console link to', async () => {
    // Nothing is served yet, and no daemon answers, so each of these problems has a reason.
    const server = await startAdminServer({
      config: { runbooks: { url: 'https://wiki.example.org/books' } },
      daemonUrl: 'http://127.0.0.1:1',
    });
    for (const path of ['/v1/distribution', CDN_FILE, '/admin/tasks']) {
      const { reason, documentation } = (await (await server.ask(path)).json()) as Problem;
      expect([path, reason]).toEqual([path, expect.any(String)]);
      expect([path, documentation]).toEqual([path, `https://wiki.example.org/books/${reason}.md`]);
    }
    const outline = await server.ask('/admin/dashboard/outline.json');
    expect(await outline.json()).toMatchObject({ runbooks: 'https://wiki.example.org/books/' });
  });
});
