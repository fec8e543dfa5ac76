import { exampleOf } from '../../../../scripts/reference/examples.ts';
import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { REPORTS } from '../../../../src/contract/reports/reports.ts';
import { coverageOf, markExcluded } from '../../../../src/localization/translation/translation-reports.ts';
import { workFinding, type WorkFacts } from '../../../../src/localization/translation/translation-checks.ts';
import { NO_PROVENANCE } from '../../../../src/localization/translation/work/store/target-rows.ts';
import { UNAVAILABLE } from '../../../../src/localization/translation/work/translation-failure.ts';
import { createStore } from '../../../../src/localization/translation/work/translation-worker.ts';
import type { WorkStatus } from '../../../../src/localization/translation/work/read/work-status.ts';
import { noUnits } from '../../../../src/domain/translation/unit-state.ts';
import { indexRelease } from '../../../support/index-release.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { buildTasks, openTestWork, resultsOf } from '../../../support/translation-work.ts';

const EVERY_FILE = { include: [], exclude: [] };

describe('the state of the work on translations', () => {
  it('counts nothing before the first build', () => {
    expect(openTestWork().at(10).status(EVERY_FILE)).toEqual({
      schemaVersion: 7,
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
    indexRelease(work.index, 'r1', [file('a.json', 1), file('b.json', 1), file('c.json', 2)]);
    buildTasks(work, 5);
    indexRelease(work.index, 'r2', files);
    buildTasks(work, 10);
    const request = { leaseSeconds: 60, maxAttempts: 1, taskId: null, after: null };
    const first = work.at(20).claimChunk({ ...request, owner: 'w1' })!;
    const results = resultsOf(
      first,
      () => 'T',
      () => 'text',
    );
    work.at(21).storeResults({ token: first.token, results: results.slice(0, 2), provenance: NO_PROVENANCE });
    const second = work.at(20).claimChunk({ ...request, owner: 'w2' })!;
    work.at(22).endLease({ token: second.token, outcome: { kind: 'failed', reason: 'http 500' } });
    work.database
      .prepare(
        `UPDATE task SET stored_status = 'skipped', status = 'skipped' WHERE destination = 'c.json' AND status <> 'superseded'`,
      )
      .run();
    const expected = {
      built: { releaseId: 'r2', generation: work.index.status().generation },
      tasks: { in_progress: 1, failed: 1, skipped: 1, superseded: 3 },
      units: { ...noUnits(), untranslated: 3, draft: 2 },
      skippedUnits: { ...noUnits(), untranslated: 1 },
      failedChunks: 1,
    };
    expect(work.at(79).status(EVERY_FILE)).toMatchObject({ ...expected, leases: { open: 1, expired: 0 } });
    expect(work.at(80).status(EVERY_FILE)).toMatchObject({ ...expected, leases: { open: 0, expired: 1 } });
  });

  it('tells which blocked units would be drafts without their findings, those on hold aside', () => {
    const work = openTestWork();
    const units = ['a', 'b', 'c', 'd'].map((key) => [key, `text of ${key}`] as const);
    indexRelease(work.index, 'r1', [{ destination: 'a.json', leaves: [{ units }] }]);
    buildTasks(work, 5);
    const lease = work
      .at(20)
      .claimChunk({ leaseSeconds: 60, maxAttempts: 1, taskId: null, after: null, owner: 'w1' })!;
    work.at(21).storeResults({
      token: lease.token,
      results: resultsOf(
        lease,
        () => 'T',
        () => 'text',
      ),
      provenance: NO_PROVENANCE,
    });
    work.database
      .prepare(`UPDATE target SET state = 'blocked', state_before =
      (SELECT CASE key WHEN 0 THEN NULL WHEN 1 THEN 'proofread' ELSE 'translated' END
      FROM (SELECT number AS key FROM task_unit WHERE task_unit.unit_id = target.unit_id))`)
      .run();
    work.database
      .prepare(`INSERT INTO hold (unit_id, target_language, at)
      SELECT unit_id, 'zh-Hans', 7 FROM task_unit WHERE number = 3`)
      .run();
    expect(work.at(30).status(EVERY_FILE).blockedUnits).toEqual({ draft: 1, translated: 1, proofread: 1 });
    const none = { draft: 0, translated: 0, proofread: 0 };
    expect(work.at(30).status({ include: ['b.json'], exclude: [] }).blockedUnits).toEqual(none);
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
    expect(work.at(10).status({ include: [], exclude: ['*.csv'] })).toMatchObject({
      units: two,
      excludedUnits: two,
      heldUnits: two,
    });
    expect(work.at(10).status({ include: ['*.txt'], exclude: [] })).toMatchObject({
      units: noUnits(),
      excludedUnits: { ...noUnits(), untranslated: 4 },
      heldUnits: noUnits(),
    });
  });
});

async function openHolder() {
  const path = join(await temporaryDirectory(), 'translation.db');
  const store = createStore({ path, targetLanguage: 'zh-Hans' });
  onTestFinished(() => {
    store.close();
  });
  return { path, tasks: () => store.tasks({ offset: 0, limit: 1 }).total };
}

describe('translation.db', () => {
  it('is not made again when it was lost, and is used again when it is back', async () => {
    const { path, tasks } = await openHolder();
    expect(tasks()).toBe(0);
    await rename(path, `${path}.away`);
    expect(tasks).toThrow(
      expect.objectContaining({ code: UNAVAILABLE, message: expect.stringContaining('is missing now') }),
    );
    expect(existsSync(path)).toBe(false);
    await rename(`${path}.away`, path);
    expect(tasks()).toBe(0);
  });

  it('is left as it is when it is of another program', async () => {
    const { path, tasks } = await openHolder();
    await writeFile(path, Buffer.alloc(8192, 'not of SQLite at all '));
    expect(tasks).toThrow(
      expect.objectContaining({ code: UNAVAILABLE, message: expect.stringContaining('left as it is') }),
    );
  });
});

const FACTS: WorkFacts = {
  status: {
    schemaVersion: 1,
    targetLanguage: 'zh-Hans',
    tasks: {},
    built: { releaseId: 'r1', generation: 3 },
    units: { ...noUnits(), untranslated: 6, stale: 2, blocked: 1 },
    skippedUnits: noUnits(),
    excludedUnits: noUnits(),
    blockedUnits: { draft: 0, translated: 0, proofread: 0 },
    heldUnits: noUnits(),
    leases: { open: 2, expired: 0 },
    failedChunks: 0,
  },
  index: { release_id: 'r1', generation: 3 },
  history: { last: null, consecutiveFailures: 0, failingSince: null },
  isBuilding: false,
  isAutomatic: true,
};

const withStatus = (change: Partial<NonNullable<WorkFacts['status']>>): Partial<WorkFacts> => ({
  status: { ...FACTS.status!, ...change },
});

describe('the check of the work on translations', () => {
  it.each<[string, Partial<WorkFacts>, string, string]>([
    ['all is well', {}, 'ok', '8 units of r1 to translate, 1 blocked, 2 chunks leased'],
    [
      'a blocked unit is in a file that is not published',
      withStatus({ excludedUnits: { ...noUnits(), blocked: 1 } }),
      'ok',
      '1 blocked (1 more in files that are not published), 2 chunks',
    ],
    ['nothing is indexed yet', { index: null, ...withStatus({ built: null }) }, 'ok', 'no translation tasks'],
    ['the file cannot be used', { status: null }, 'ok', 'see database.translation'],
    [
      'a lease has expired',
      withStatus({ leases: { open: 0, expired: 2 } }),
      'degraded',
      'expired on 2 chunks; the next run of a worker takes over',
    ],
    ['chunks have failed', withStatus({ failedChunks: 3 }), 'degraded', '3 chunks of translation tasks'],
    [
      'the tasks are those of the release before',
      { index: { release_id: 'r2', generation: 4 } },
      'degraded',
      'the translation tasks of r2 are not built for its present index, those of r1 are shown; run "slipway ctl parse"',
    ],
    [
      'the index is another one of the same release',
      { index: { release_id: 'r1', generation: 4 } },
      'degraded',
      'r1 are not built for its present index; run',
    ],
    [
      'the tasks are being built',
      { index: { release_id: 'r2', generation: 4 }, isBuilding: true },
      'ok',
      'they are being built',
    ],
    [
      'tasks are not built by themselves',
      { index: { release_id: 'r2', generation: 4 }, isAutomatic: false },
      'ok',
      'translation.automatic is off',
    ],
    [
      'building them fails',
      {
        index: { release_id: 'r2', generation: 4 },
        history: { last: null, consecutiveFailures: 2, failingSince: 77 },
      },
      'degraded',
      'run "slipway ctl parse" when the cause is gone',
    ],
  ])('when %s', (_, facts, status, message) => {
    const finding = workFinding({ ...FACTS, ...facts });
    expect(finding.status).toBe(status);
    expect(finding.message).toContain(message);
    if (facts.history !== undefined) expect(finding.since).toBe(77);
  });
});

const STATUS: WorkStatus = {
  schemaVersion: 1,
  targetLanguage: 'zh-Hans',
  tasks: {},
  built: { releaseId: 'r1', generation: 3 },
  units: { untranslated: 6, draft: 5, translated: 4, proofread: 30, blocked: 2, stale: 1 },
  skippedUnits: { ...noUnits(), untranslated: 7, proofread: 1 },
  excludedUnits: { ...noUnits(), blocked: 3, translated: 1 },
  blockedUnits: { draft: 1, translated: 0, proofread: 1 },
  heldUnits: { ...noUnits(), untranslated: 1, proofread: 2 },
  leases: { open: 0, expired: 0 },
  failedChunks: 0,
};

const PROOFREAD = { minState: 'proofread', minCoverage: 0 } as const;
const NONE_BLOCKED = { draft: 0, translated: 0, proofread: 0 };

describe('the coverage of the official release', () => {
  it('counts units, and what stands against a publication', () => {
    expect(coverageOf(STATUS, 'r1', PROOFREAD)).toEqual({
      coverage: {
        release_id: 'r1',
        target_language: 'zh-Hans',
        units: 60,
        accepted: 31,
        translated: 36,
        blocked: 5,
        blocked_left_out: 3,
        skipped: 8,
        excluded: 4,
        by_state: { untranslated: 13, draft: 5, translated: 5, proofread: 31, blocked: 5, stale: 1 },
        publishable: 28,
      },
      publish_blockers: [
        {
          code: 'qa_blocked',
          count: 1,
          message: 'units with blocking findings; slipway ctl translations handoff lists them',
          unit_state: 'blocked',
        },
        {
          code: 'on_hold',
          count: 3,
          message: 'units on hold until someone reviews them; slipway ctl translations handoff lists them',
        },
        {
          code: 'stale',
          count: 1,
          message: 'units whose source has changed since they were translated',
          unit_state: 'stale',
        },
        {
          code: 'untranslated',
          count: 5,
          message: 'units without a translation',
          unit_state: 'untranslated',
        },
        {
          code: 'below_min_state',
          count: 10,
          message: 'drafts and translated units; localized.minState demands proofread',
          unit_state: 'draft,translated,blocked',
        },
      ],
    });
  });

  it('has no blockers when every unit is accepted, those of skipped tasks aside', () => {
    const units = { ...noUnits(), proofread: 30 };
    expect(
      coverageOf({ ...STATUS, units, blockedUnits: NONE_BLOCKED, heldUnits: noUnits() }, 'r1', PROOFREAD)
        .publish_blockers,
    ).toEqual([]);
  });

  it.each([
    ['translated', 6, 'drafts; localized.minState demands translated', 'draft,blocked'],
    ['draft', 0, undefined, undefined],
  ] as const)('counts only units below the minimum state %s', (minState, count, message, states) => {
    const { publish_blockers: blockers } = coverageOf(STATUS, 'r1', { ...PROOFREAD, minState });
    const below = blockers.find(({ code }) => code === 'below_min_state');
    expect([below?.count ?? 0, below?.message, below?.unit_state]).toEqual([count, message, states]);
  });

  it.each<[number, WorkStatus['units'], [number, string] | null]>([
    [0.58, STATUS.units, null],
    [
      0.59,
      STATUS.units,
      [
        28,
        '58.3 % of the units can be published, and localized.minCoverage demands 59 %: 5 untranslated, 1 with a changed source, 10 not proofread yet, 3 on hold, 1 blocked',
      ],
    ],
    [
      0,
      { ...STATUS.units, proofread: STATUS.heldUnits.proofread },
      [0, expect.stringMatching(/^no unit can be published: /) as string],
    ],
  ])('says that a publication which must have %d of the units is refused', (minCoverage, units, expected) => {
    const { publish_blockers: blockers } = coverageOf({ ...STATUS, units }, 'r1', {
      ...PROOFREAD,
      minCoverage,
    });
    const found = blockers.find(({ code }) => code === 'coverage_incomplete');
    expect(found === undefined ? null : [found.count, found.message]).toEqual(expected);
  });

  it('names blocked units among those below the minimum state only where some count there', () => {
    const { publish_blockers: blockers } = coverageOf({ ...STATUS, blockedUnits: NONE_BLOCKED }, 'r1', {
      ...PROOFREAD,
      minState: 'translated',
    });
    expect(blockers.find(({ code }) => code === 'below_min_state')?.unit_state).toBe('draft');
  });

  it('does not tell how many units are publishable while not all that are on hold are counted', () => {
    const heldUnits = { ...noUnits(), proofread: 10_000 };
    const units = { ...noUnits(), proofread: 60_000 };
    const { coverage } = coverageOf({ ...STATUS, units, heldUnits }, 'r1', PROOFREAD);
    expect(coverage.publishable).toBeNull();
  });

  it.each([
    [null, 'no_official_release'],
    ['r2', 'tasks_not_built'],
  ])('is 0 while there are no tasks for the official release %s', (releaseId, code) => {
    const { coverage, publish_blockers: blockers } = coverageOf(STATUS, releaseId, PROOFREAD);
    expect(coverage).toMatchObject({
      release_id: releaseId,
      units: 0,
      accepted: 0,
      skipped: 0,
      publishable: 0,
    });
    expect(blockers.map((blocker) => blocker.code)).toEqual([code]);
  });
});

const { answer: handoff } = REPORTS['translation.handoff'];
const { releases } = handoff.schema.parse(exampleOf(handoff));

describe('listed units of files that no publication has', () => {
  it('say so, and the others stay as they are', () => {
    const [release] = releases;
    const [blocked] = release?.blocked ?? [];
    if (release === undefined || blocked === undefined) throw new Error('the example has no unit');
    const units = [
      { ...blocked, destination: 'Excel/a.json', left_out: null },
      { ...blocked, destination: 'Story/a.json', left_out: null },
      { ...blocked, destination: 'Story/b.json', left_out: 'skipped_task' as const },
    ];
    const held = (release.held ?? []).map((unit) => ({ ...unit, destination: 'Excel/b.json' }));
    const files = { include: [], exclude: ['Excel/**'] };
    const [marked] = markExcluded([{ ...release, blocked: units, held }], files);
    expect(marked?.blocked.map(({ left_out: why }) => why)).toEqual(['excluded_file', null, 'skipped_task']);
    expect(marked?.held.map(({ left_out: why }) => why)).toEqual(['excluded_file']);
    expect(markExcluded(releases, { include: [], exclude: [] })).toEqual(releases);
  });
});
