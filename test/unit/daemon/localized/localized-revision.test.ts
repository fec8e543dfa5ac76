import { expect, test } from 'vitest';
import type { BaseRow } from '../../../../src/daemon/localized/publish/base-release.ts';
import { writeLocalizedRevision } from '../../../../src/daemon/localized/publish/localized-revision.ts';
import type { Replacements } from '../../../../src/daemon/localized/publish/stage-patches.ts';
import type { TaskContext } from '../../../../src/daemon/tasks/task.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

test('the entries of many replaced files are written in pages, and the task can be cancelled between them', async () => {
  const replaced = new Map(
    Array.from({ length: 2500 }, (_, at) => [`${at}.csv`, { blake3: 'new', size: 1 }]),
  );
  const cancelling = new AbortController();
  const pages: number[] = [];
  const catalogs = {
    begin: () => 7,
    copyRows: async function* copyRows() {},
    entry: (_revision: number, destination: string) => ({ destination, blake3: 'old' }),
    replaceRows: (_revision: number, rows: readonly unknown[]) => {
      pages.push(rows.length);
      if (pages.length === 2) cancelling.abort(new Error('cancelled'));
    },
  };
  const context = { taskId: 't1', signal: cancelling.signal, progress: () => undefined };
  const write = writeLocalizedRevision(
    { catalogs, objects: {}, clock: new FakeClock() } as unknown as Parameters<
      typeof writeLocalizedRevision
    >[0],
    { release_id: 'r1', revision_id: 1, app_version: null } as BaseRow,
    replaced as unknown as Replacements,
    context as unknown as TaskContext,
  );
  await expect(write).rejects.toThrow('cancelled');
  expect(pages).toEqual([1000, 1000]);
});
