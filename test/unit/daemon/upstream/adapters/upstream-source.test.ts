import { describe, expect, it } from 'vitest';
import {
  createUpstreamSource,
  type OwnedUpstream,
} from '../../../../../src/daemon/upstream/adapters/upstream-source.ts';

function upstream(closed: string[], name: string): OwnedUpstream {
  return {
    adapter: { label: name } as OwnedUpstream['adapter'],
    downloader: { download: () => Promise.reject(new Error('unused')) },
    close: async () => {
      closed.push(name);
    },
  };
}

const ignore = (): void => undefined;

describe('a replaced upstream', () => {
  it('stays connected for work that began with it, and is closed after that', async () => {
    const closed: string[] = [];
    const source = createUpstreamSource(upstream(closed, 'old'), ignore);
    const gate = Promise.withResolvers<void>();
    const labels: unknown[] = [];
    const run = source.use(async (used) => {
      await gate.promise;
      labels.push(used?.adapter.label);
    });
    source.replace(upstream(closed, 'new'));
    expect([source.current()?.adapter.label, closed]).toEqual(['new', []]);
    await source.use(async (used) => {
      labels.push(used?.adapter.label);
    });
    gate.resolve();
    await run;
    expect([labels, closed]).toEqual([['new', 'old'], ['old']]);
    await source.close();
    expect(closed).toEqual(['old', 'new']);
  });

  it('is closed immediately when nothing uses it, also by failed work', async () => {
    const closed: string[] = [];
    const source = createUpstreamSource(upstream(closed, 'old'), ignore);
    await expect(source.use(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    source.replace(null);
    expect([source.current(), closed]).toEqual([null, ['old']]);
    expect(await source.use(async (used) => used)).toBeNull();
    await source.close();
    expect(closed).toEqual(['old']);
  });

  it('is closed at the end, even if work still uses it', async () => {
    const closed: string[] = [];
    const source = createUpstreamSource(upstream(closed, 'old'), ignore);
    const gate = Promise.withResolvers<void>();
    const run = source.use(async () => await gate.promise);
    source.replace(upstream(closed, 'new'));
    await source.close();
    expect(closed.toSorted()).toEqual(['new', 'old']);
    gate.resolve();
    await run;
  });
});
