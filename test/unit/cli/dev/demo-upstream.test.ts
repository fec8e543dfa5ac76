import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDemoUpstream, demoUpstreamPath } from '../../../../src/cli/dev/demo-upstream.ts';
import { createDirectoryAdapter } from '../../../../src/daemon/upstream/adapters/directory-adapter.ts';
import { upstreamConfigurationSchema } from '../../../../src/daemon/upstream/upstream-config.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const [FIRST, SECOND] = ['1.67.412528-r89_demo', '1.67.412528-r90_demo'] as const;

describe('the demo upstream', () => {
  it('offers one release after the other, and leaves a sync that reads the old one alone', async () => {
    const directory = join(await temporaryDirectory(), 'upstream');
    const upstream = createDemoUpstream(directory);
    expect(await upstream.offered()).toBeNull();
    await upstream.offer(FIRST);
    expect(await upstream.offered()).toBe(FIRST);

    const section = { path: demoUpstreamPath(directory), serverInfoFile: 'server-info.json' };
    const adapter = createDirectoryAdapter(
      upstreamConfigurationSchema.parse({ kind: 'directory', directory: section }),
      section,
    );
    const { signal } = new AbortController();
    const old = await adapter.fetchCatalog(null, signal);
    expect(old?.releaseId).toBe(FIRST);
    await upstream.offer(SECOND);
    expect(await upstream.offered()).toBe(SECOND);
    for await (const entry of old?.entries(signal) ?? []) {
      const { chunks } = await adapter.open(entry, { start: 0, validator: null }, signal);
      let bytes = 0;
      for await (const chunk of chunks) bytes += chunk.length;
      expect(bytes).toBe(entry.size);
    }
    expect((await adapter.fetchCatalog(old?.etag ?? null, signal))?.releaseId).toBe(SECOND);

    // A process that was killed during a switch leaves the new link behind.
    await symlink('elsewhere', `${demoUpstreamPath(directory)}.next`);
    await upstream.offer(FIRST);
    expect(await upstream.offered()).toBe(FIRST);
    expect((await readdir(directory)).toSorted()).toEqual([FIRST, SECOND, 'current']);
  });

  it('replaces the single tree that earlier versions wrote', async () => {
    const directory = join(await temporaryDirectory(), 'upstream');
    await mkdir(join(directory, 'Scenario'), { recursive: true });
    await writeFile(join(directory, 'release.json'), '{}');
    const upstream = createDemoUpstream(directory);
    expect(await upstream.offered()).toBeNull();
    await upstream.offer(FIRST);
    expect((await readdir(directory)).toSorted()).toEqual([FIRST, 'current']);
  });
});
