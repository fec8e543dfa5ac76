import { describe, expect, it } from 'vitest';
import { TranslationHandoffReport } from '../../../../src/contract/reports/report-translation.ts';
import { unitIdText } from '../../../../src/localization/unit-id-text.ts';
import {
  NO_PROVENANCE,
  type Finding,
} from '../../../../src/localization/translation/work/store/target-rows.ts';
import { noUnits } from '../../../../src/domain/translation/unit-state.ts';
import type { GlobLists } from '../../../../src/platform/config/glob-filter.ts';
import { indexRelease, unitIdOf, type ModelFile } from '../../../support/index-release.ts';
import { buildTasks, openTestWork, resultsOf, type TestWork } from '../../../support/translation-work.ts';

const EVERY_FILE = { include: [], exclude: [] };

const file = (destination: string, units: number): ModelFile => ({
  destination,
  leaves: [{ units: Array.from({ length: units }, (_, at) => [`k${at}`, `text ${at}`] as const) }],
});

function open(...files: readonly ModelFile[]): TestWork {
  const work = openTestWork();
  indexRelease(work.index, 'r1', files);
  buildTasks(work, 10, 1000);
  return work;
}

const finding = (check: string, waivable: boolean): Finding => ({
  check,
  origin: 'target',
  severity: 'error',
  message: `found ${check}`,
  waivable,
  source_span: null,
  target_span: null,
});

/** A worker stores a blocked target for every unit of the next chunk. */
function block(work: TestWork, findings: readonly Finding[], qaIdentity: string | null): void {
  const lease = work
    .at(20)
    .claimChunk({ owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null })!;
  const results = resultsOf(
    lease,
    () => 'T',
    () => 'text',
  ).map(({ target, ...result }) => ({
    ...result,
    target: { ...target, state: 'blocked' as const, findings, qaIdentity },
  }));
  work.at(20).storeResults({ token: lease.token, results: results, provenance: NO_PROVENANCE });
  work.at(20).endLease({ token: lease.token, outcome: { kind: 'done' } });
}

const read = (work: TestWork, files: GlobLists = EVERY_FILE) => {
  const handoff = work.handoff(files);
  const body = { ...handoff, open_conflicts: null };
  expect(TranslationHandoffReport.body.strict().parse(body)).toEqual(body);
  return handoff;
};

const READY = { archive_entry: null, status: 'pending', reason: null, failure_reason: null };

describe('translation.handoff', () => {
  it('is empty before the first build', () => {
    expect(read(openTestWork())).toEqual({ releases: [], last_export: null });
  });

  it('lists the tasks with units to translate, without leased and skipped ones', () => {
    const work = open(file('a.json', 3), file('b.json', 2), file('c.json', 1), file('d.json', 4));
    work.at(20).claimChunk({ owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null });
    work.database
      .prepare(`UPDATE task SET stored_status = 'skipped', status = 'skipped' WHERE destination = 'b.json'`)
      .run();
    expect(read(work).releases).toEqual([
      {
        release_id: 'r1',
        counts: { in_progress: 1, pending: 2, skipped: 1 },
        ready_total: { tasks: 2, units: 5 },
        ready: [
          { task_id: 'tt_id000003', destination: 'c.json', units: 1, ...READY },
          { task_id: 'tt_id000004', destination: 'd.json', units: 4, ...READY },
        ],
        blocked_total: 0,
        blocked: [],
        held_total: 0,
        held: [],
        returned_total: 0,
        returned: [],
      },
    ]);
  });

  it('lists tasks that workers gave up and that someone called failed, with the reason', () => {
    const work = open(file('a.json', 3), file('b.json', 2));
    const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 1, taskId: null, after: null };
    const { token = '' } = work.at(20).claimChunk(request) ?? {};
    work.at(20).endLease({ token: token, outcome: { kind: 'failed', reason: 'answer_refused' } });
    work.database
      .prepare(
        `UPDATE task SET stored_status = 'failed', status = 'failed', failure_reason = 'no budget' WHERE destination = 'b.json'`,
      )
      .run();
    expect(read(work).releases[0]).toMatchObject({
      ready_total: { tasks: 2, units: 5 },
      ready: [
        { destination: 'a.json', status: 'failed', failure_reason: 'answer_refused' },
        { destination: 'b.json', status: 'failed', failure_reason: 'no budget' },
      ],
    });
  });

  it('lists units on hold with who and why, those of skipped tasks and of other releases aside', () => {
    const work = open(file('a.json', 2), file('b.json', 1));
    const hold = work.database.prepare(`INSERT INTO hold VALUES (?, ?, 'Rin', 'wrong tone', 30)`);
    for (const [destination, key] of [
      ['a.json', 'k1'],
      ['b.json', 'k0'],
      ['gone.json', 'k0'],
    ] as const) {
      hold.run(unitIdOf(destination, key), 'zh-Hans');
    }
    hold.run(unitIdOf('a.json', 'k0'), 'ko');
    work.database
      .prepare(`UPDATE task SET stored_status = 'skipped', status = 'skipped' WHERE destination = 'b.json'`)
      .run();
    expect(read(work).releases[0]).toMatchObject({
      held_total: 1,
      held: [
        {
          task_id: 'tt_id000001',
          unit_id: unitIdText(unitIdOf('a.json', 'k1')),
          destination: 'a.json',
          source_text: null,
          reviewer: 'Rin',
          reason: 'wrong tone',
          since: 30,
        },
      ],
    });
    expect(work.at(40).status(EVERY_FILE).heldUnits).toEqual({ ...noUnits(), untranslated: 1 });
    block(work, [finding('tag_mismatch', true)], null);
    expect(work.at(40).status(EVERY_FILE).heldUnits).toEqual({ ...noUnits(), untranslated: 1 });
    work.database.prepare('DELETE FROM hold').run();
    hold.run(unitIdOf('a.json', 'k0'), 'zh-Hans');
    expect(work.at(40).status(EVERY_FILE).heldUnits).toEqual({ ...noUnits(), blocked: 1 });
    expect(read(work).releases[0]?.held).toMatchObject([{ destination: 'a.json', source_text: 'text' }]);
  });

  it('lists blocked units with the checks that block them', () => {
    const work = open(file('a.json', 1), file('b.json', 1));
    block(work, [finding('tag_mismatch', true), finding('tag_mismatch', true)], 'gqa1_x');
    const [release] = read(work).releases;
    expect(release).toMatchObject({ ready_total: { tasks: 1, units: 1 }, blocked_total: 1 });
    expect(release?.blocked).toEqual([
      {
        task_id: 'tt_id000001',
        unit_id: unitIdText(unitIdOf('a.json', 'k0')),
        destination: 'a.json',
        source_text: 'text',
        left_out: null,
        codes: ['tag_mismatch'],
        qa_identity: 'gqa1_x',
      },
    ]);
    work.database
      .prepare(`UPDATE task SET stored_status = 'skipped', status = 'skipped' WHERE destination = 'a.json'`)
      .run();
    expect(read(work).releases[0]?.blocked).toMatchObject([{ left_out: 'skipped_task' }]);
  });

  it('lists at most 100 tasks and 100 blocked units, and counts all', () => {
    const work = open(
      file('a.json', 150),
      ...Array.from({ length: 101 }, (_, at) => file(`b/${String(at).padStart(3, '0')}.json`, 1)),
    );
    block(work, [finding('empty_target', false)], null);
    const [release] = read(work).releases;
    expect(release).toMatchObject({ ready_total: { tasks: 101, units: 101 }, blocked_total: 150 });
    expect([release?.ready.length, release?.blocked.length]).toEqual([100, 100]);
  });

  it.each([
    ['of a skipped task', EVERY_FILE, 'skipped'],
    ['of a file that is not published', { include: [], exclude: ['a.json'] }, null],
  ] as const)('lists a unit that prevents a publication before 150 %s', (_what, files, status) => {
    const work = open(file('a.json', 150), file('z.json', 1));
    block(work, [finding('empty_target', false)], null);
    block(work, [finding('empty_target', false)], null);
    work.database
      .prepare(`UPDATE task SET stored_status = ?, status = coalesce(?, status) WHERE destination = 'a.json'`)
      .run(status, status);
    const [release] = read(work, files).releases;
    const places = release?.blocked.map(({ destination }) => destination) ?? [];
    expect([places[0], places.lastIndexOf('z.json'), places.length]).toEqual(['z.json', 0, 100]);
  });

  it('has the releases before without work, because that continues in the newest one', () => {
    const work = open(file('a.json', 1));
    block(work, [finding('empty_target', false)], null);
    indexRelease(work.index, 'r2', [file('a.json', 2)]);
    buildTasks(work, 30);
    const { releases } = read(work);
    expect(releases).toMatchObject([
      { release_id: 'r2', counts: { blocked: 1 }, ready_total: { units: 1 }, blocked_total: 1 },
      { release_id: 'r1', counts: { superseded: 1 }, ready: [], blocked: [], blocked_total: 0 },
    ]);
    expect(releases[0]?.blocked).toMatchObject([{ task_id: 'tt_id000003', codes: ['empty_target'] }]);
  });

  it('names the last file that was exported', () => {
    const work = open(file('a.json', 1));
    const written = { file: 'r1.xlf', sha256: 'ab'.repeat(32), units: 3 };
    work.addExport({ ...written, releaseId: 'r1', createdAt: 40 });
    expect(read(work).last_export).toEqual({ ...written, release_id: 'r1', created_at: 40 });
  });
});

describe('the record of files for translators', () => {
  it('has the newest file last', () => {
    const work = openTestWork();
    expect(read(work).last_export).toBeNull();
    const first = { releaseId: 'r1', file: 'r1.xlf', sha256: 'ab'.repeat(32), units: 3, createdAt: 10 };
    work.addExport(first);
    work.addExport({ ...first, file: 'r1-2.xlf', units: 4 });
    const { sha256 } = first;
    expect(read(work).last_export).toEqual({
      release_id: 'r1',
      file: 'r1-2.xlf',
      sha256,
      units: 4,
      created_at: 10,
    });
  });
});
