import { describe, expect, it } from 'vitest';
import { noUnits } from '../../../../../src/domain/translation/unit-state.ts';
import { NO_PROVENANCE } from '../../../../../src/daemon/translation/work/target-rows.ts';
import { indexRelease } from '../../../../support/index-release.ts';
import { buildTasks, openTestWork, resultsOf } from '../../../../support/translation-work.ts';

describe('the state of the work on translations', () => {
  it('counts nothing before the first build', () => {
    expect(openTestWork().readStatus(10)).toEqual({
      schemaVersion: 3,
      targetLanguage: 'zh-Hans',
      tasks: {},
      built: null,
      units: noUnits(),
      skippedUnits: noUnits(),
      heldUnits: noUnits(),
      leases: { open: 0, expired: 0 },
      failedChunks: 0,
    });
  });

  it('counts the units of the current build, leases and failed chunks', () => {
    const work = openTestWork();
    const file = (destination: string, count: number) => ({
      destination,
      leaves: [{ units: Array.from({ length: count }, (_, at) => [`k${at}`, `text ${at}`] as const) }],
    });
    const files = [file('a.json', 3), file('b.json', 2), file('c.json', 1)];
    indexRelease(work.index, 'r1', files);
    buildTasks(work, 5);
    indexRelease(work.index, 'r2', files);
    buildTasks(work, 10);
    const request = { leaseSeconds: 60, maxAttempts: 1, taskId: null, after: null };
    const first = work.leases.claim({ ...request, owner: 'w1' }, 20)!;
    const results = resultsOf(
      first,
      () => 'T',
      () => 'text',
    );
    work.leases.store(first.token, results.slice(0, 2), NO_PROVENANCE, 21);
    const second = work.leases.claim({ ...request, owner: 'w2' }, 20)!;
    work.leases.end(second.token, { kind: 'failed', reason: 'http 500' }, 22);
    work.database
      .prepare(
        `UPDATE task SET stored_status = 'skipped', status = 'skipped' WHERE destination = 'c.json' AND release_id = 'r2'`,
      )
      .run();
    const expected = {
      built: { releaseId: 'r2', generation: work.index.status().generation },
      tasks: { in_progress: 1, failed: 1, skipped: 1, superseded: 3 },
      units: { ...noUnits(), untranslated: 3, draft: 2 },
      skippedUnits: { ...noUnits(), untranslated: 1 },
      failedChunks: 1,
    };
    expect(work.readStatus(79)).toMatchObject({ ...expected, leases: { open: 1, expired: 0 } });
    expect(work.readStatus(80)).toMatchObject({ ...expected, leases: { open: 0, expired: 1 } });
  });
});
