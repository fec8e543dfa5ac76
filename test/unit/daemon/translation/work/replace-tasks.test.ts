import { expect, it } from 'vitest';
import { createTranslationWork } from '../../../../../src/daemon/translation/work/translation-work.ts';
import { indexRelease } from '../../../../support/index-release.ts';
import { buildTasks, openTestWork, resultsOf, rowsOf } from '../../../../support/translation-work.ts';
import { NO_PROVENANCE } from '../../../../../src/daemon/translation/work/target-rows.ts';

/** More tasks than one step takes. */
const FILES = 450;

it('writes the status of new tasks in steps that another process can continue, and shows none before the last one', () => {
  const work = openTestWork();
  const { database, index } = work;
  const files = Array.from({ length: FILES }, (_, at) => ({
    destination: `${String(at).padStart(4, '0')}.json`,
    leaves: [{ units: [['k', `text ${at}`]] as const }],
  }));
  indexRelease(index, 'r1', files);
  buildTasks(work, 1, 100);
  const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
  const lease = work.leases.claim(request, 2);
  if (lease === null) throw new Error('there is nothing to translate');
  const results = resultsOf(
    lease,
    () => 'T',
    () => 'text 0',
  );
  work.leases.store(lease.token, results, NO_PROVENANCE, 2);
  work.leases.end(lease.token, { kind: 'done' }, 2);

  indexRelease(index, 'r2', [...files, { destination: 'new.json', leaves: [{ units: [['k', 'new']] }] }]);
  const { release_id: releaseId, generation } = index.status();
  let build = work.builder.begin(String(releaseId), generation, 3);
  while (!build.isComplete) {
    build = work.builder.add(
      build.buildId,
      index.unitsAfter({ from: build.from, limit: 100, maxCharacters: 10_000 }),
      3,
    );
  }
  const shown = (): unknown =>
    rowsOf(
      database,
      `SELECT release_id, status, count(*) AS tasks FROM task WHERE is_visible = 1 GROUP BY release_id, status`,
    );
  const before = shown();
  expect(work.builder.countTasks(build.buildId, 3)).toBe(true);
  // The process ends here, and another one takes over.
  const other = createTranslationWork({ database, targetLanguage: 'zh-Hans', createId: () => 'other' });
  expect(other.builder.begin(String(releaseId), generation, 4)).toMatchObject({ isComplete: true });
  expect(other.builder.countTasks(build.buildId, 4)).toBe(true);
  expect(other.builder.countTasks(build.buildId, 4)).toBe(false);
  expect(shown()).toEqual(before);
  expect(other.builder.finish(build.buildId, 5)).toMatchObject({ tasks: FILES + 1, superseded: FILES });
  expect(shown()).toEqual([
    { release_id: 'r1', status: 'superseded', tasks: FILES },
    { release_id: 'r2', status: 'pending', tasks: FILES },
    { release_id: 'r2', status: 'translated', tasks: 1 },
  ]);

  let steps = 0;
  while (other.builder.cleanUp()) steps += 1;
  expect(steps).toBeGreaterThan(FILES / 200);
  expect(steps).toBeLessThan(20);
  const left = rowsOf(database, 'SELECT count(*) AS units FROM task_unit');
  expect(left).toEqual([{ units: FILES + 1 }]);
});
