import { describe, expect, it } from 'vitest';
import { noUnits } from '../../../../../src/domain/translation/unit-state.ts';
import { NO_PROVENANCE } from '../../../../../src/daemon/translation/work/target-rows.ts';
import { indexRelease } from '../../../../support/index-release.ts';
import { buildTasks, openTestWork, resultsOf } from '../../../../support/translation-work.ts';

const EVERY_FILE = { include: [], exclude: [] };

describe('the state of the work on translations', () => {
  it('counts nothing before the first build', () => {
    expect(openTestWork().readStatus(10, EVERY_FILE)).toEqual({
      schemaVersion: 3,
      targetLanguage: 'zh-Hans',
      tasks: {},
      built: null,
      units: noUnits(),
      skippedUnits: noUnits(),
      excludedUnits: noUnits(),
      blockedUnits: { draft: 0, translated: 0, proofread: 0 },
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
    expect(work.readStatus(79, EVERY_FILE)).toMatchObject({ ...expected, leases: { open: 1, expired: 0 } });
    expect(work.readStatus(80, EVERY_FILE)).toMatchObject({ ...expected, leases: { open: 0, expired: 1 } });
  });

  it('tells which blocked units would be drafts without their findings, those on hold aside', () => {
    const work = openTestWork();
    const units = ['a', 'b', 'c', 'd'].map((key) => [key, `text of ${key}`] as const);
    indexRelease(work.index, 'r1', [{ destination: 'a.json', leaves: [{ units }] }]);
    buildTasks(work, 5);
    const lease = work.leases.claim(
      { leaseSeconds: 60, maxAttempts: 1, taskId: null, after: null, owner: 'w1' },
      20,
    )!;
    work.leases.store(
      lease.token,
      resultsOf(
        lease,
        () => 'T',
        () => 'text',
      ),
      NO_PROVENANCE,
      21,
    );
    work.database
      .prepare(`UPDATE target SET state = 'blocked', state_before =
      (SELECT CASE key WHEN 0 THEN NULL WHEN 1 THEN 'proofread' ELSE 'translated' END
      FROM (SELECT number AS key FROM task_unit WHERE task_unit.unit_id = target.unit_id))`)
      .run();
    work.database
      .prepare(`INSERT INTO hold (unit_id, target_language, at)
      SELECT unit_id, 'zh-Hans', 7 FROM task_unit WHERE number = 3`)
      .run();
    expect(work.readStatus(30, EVERY_FILE).blockedUnits).toEqual({ draft: 1, translated: 1, proofread: 1 });
    const none = { draft: 0, translated: 0, proofread: 0 };
    expect(work.readStatus(30, { include: ['b.json'], exclude: [] }).blockedUnits).toEqual(none);
  });

  it('counts the units of files that a localized release leaves out by themselves', () => {
    const work = openTestWork();
    const files = ['a.json', 'b.csv'].map((destination) => ({
      destination,
      leaves: [{ units: [['k', `text of ${destination}`] as const, ['l', 'other'] as const] }],
    }));
    indexRelease(work.index, 'r1', files);
    buildTasks(work, 5);
    const hold = work.database.prepare(`INSERT INTO hold (unit_id, target_language, at)
      SELECT unit_id, 'zh-Hans', 7 FROM task_unit JOIN task USING (task_seq) WHERE destination = ?`);
    for (const { destination } of files) hold.run(destination);
    const two = { ...noUnits(), untranslated: 2 };
    expect(work.readStatus(10, { include: [], exclude: ['*.csv'] })).toMatchObject({
      units: two,
      excludedUnits: two,
      heldUnits: two,
    });
    expect(work.readStatus(10, { include: ['*.txt'], exclude: [] })).toMatchObject({
      units: noUnits(),
      excludedUnits: { ...noUnits(), untranslated: 4 },
      heldUnits: noUnits(),
    });
  });
});
