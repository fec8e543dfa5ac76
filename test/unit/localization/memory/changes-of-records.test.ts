import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import {
  type ConfirmRequest,
  confirmRecord,
  rejectRecord,
  reviseRecord,
  resolveConflict,
} from '../../../../src/localization/memory/store/memory-changes.ts';
import type { MemoryFiles } from '../../../../src/localization/memory/store/memory-files.ts';
import { lookup, memoryFiles, proposal, trust } from '../../../support/memory-records.ts';
import { findMatches } from '../../../../src/localization/memory/store/memory-lookup.ts';
import {
  findRecord,
  recordHistory,
  soleTokens,
  countRecords,
  readConflicts,
} from '../../../../src/localization/memory/store/memory-reads.ts';
import { proposeRecords } from '../../../../src/localization/memory/store/memory-writer.ts';

const NOTE = { reviewer: 'mika', reason: null, at: 300 };

function confirm(files: MemoryFiles, record_id: string, fields: Partial<ConfirmRequest> = {}) {
  const request = { ...NOTE, record_id, supersede_record_id: null, force: false, ...fields };
  return files.write(null, (store) => confirmRecord(store, request));
}

describe('proposals', () => {
  it('become candidates once; a repeated one counts a use', async () => {
    const { files } = await memoryFiles();
    const first = proposal('はい', '是');
    const outcomes = files.write(null, (store) =>
      proposeRecords(store, [first, proposal('はい', '是')], 100),
    );
    expect(outcomes).toEqual([
      { outcome: 'added', record_id: first.record_id, state: 'candidate' },
      { outcome: 'known', record_id: first.record_id, state: 'candidate' },
    ]);
    files.read(null, (store) => {
      expect(findRecord(store, first.record_id)).toMatchObject({
        state: 'candidate',
        use_count: 1,
        last_used_at: 100,
      });
      expect(countRecords(store).counts).toMatchObject({ candidate: 1, trusted: 0 });
    });
  });

  it('of texts that cannot be stored as they are, are refused one by one', async () => {
    const { files } = await memoryFiles();
    const proposals = [
      proposal('は\uD800', '是'),
      proposal('は\0い', '是'),
      proposal('はい', ''),
      proposal('あ'.repeat(65_537), '是'),
      proposal('\u200F\u200Bはい', '\u202E是'),
    ];
    const outcomes = files.write(null, (store) => proposeRecords(store, proposals, 100));
    expect(outcomes.map((each) => (each.outcome === 'refused' ? each.reason : each.outcome))).toEqual([
      'source_text has half of a surrogate pair',
      'source_text has a NUL character',
      'target_text is empty',
      'source_text has more than 65536 characters',
      'added',
    ]);
  });
});

describe('the token that alone wrote and confirmed a record', () => {
  const sole = (files: MemoryFiles, ...ids: string[]) => files.read(null, (store) => soleTokens(store, ids));

  it('is that of the author, until another token confirms the record', async () => {
    const { files } = await memoryFiles();
    const author = { kind: 'person', tokenId: 'ann' } as const;
    const [own, others] = [proposal('はい', '是', { author }), proposal('いいえ', '不', { author })];
    const machine = proposal('先生', '老师', { author: { kind: 'machine', tokenId: null } });
    const records = [own, others, machine];
    files.write(null, (store) => proposeRecords(store, records, 100));
    const ids = records.map(({ record_id }) => record_id);
    expect(sole(files, ...ids, 'tm_unknown')).toEqual(['ann', 'ann', null, null]);
    confirm(files, own.record_id, { tokenId: 'ann' });
    confirm(files, others.record_id, { tokenId: 'rin' });
    confirm(files, machine.record_id, { tokenId: 'ann' });
    expect(sole(files, ...ids)).toEqual(['ann', null, null]);
  });

  it('is that of the only reviewer where the author was not kept, unless a worker made the record', async () => {
    const { files } = await memoryFiles();
    const provenance = { ...proposal('', '').provenance, origin: 'task_update' } as const;
    const machine = { kind: 'machine', tokenId: null } as const;
    const [typed, made] = [
      proposal('はい', '是', { provenance }),
      proposal('いいえ', '不', { author: machine }),
    ];
    files.write(null, (store) => proposeRecords(store, [typed, made], 100));
    for (const { record_id } of [typed, made]) confirm(files, record_id, { tokenId: 'ann' });
    expect(sole(files, typed.record_id, made.record_id)).toEqual(['ann', null]);
  });
});

describe('confirmed records', () => {
  it('are contextual, and the default where there is none', async () => {
    const { files } = await memoryFiles();
    const [first = '', second = ''] = trust(
      files,
      proposal('はい', '是', { context: { speaker: 'A' } }),
      proposal('はい', '好', { context: { speaker: 'B' } }),
    );
    files.read(null, (store) => {
      expect(findRecord(store, first)).toMatchObject({
        is_default: true,
        confirmed_at: 200,
        reviewer: 'mika',
      });
      expect(findRecord(store, second)).toMatchObject({ is_default: false });
      expect(countRecords(store).counts.conflict_groups).toBe(0);
      const [match] = findMatches(store, lookup('はい', { context: { speaker: 'B' } }));
      expect(match).toMatchObject({ match_type: 'context', score: 101, proposed_text: '好' });
      expect(findMatches(store, lookup('はい'))[0]).toMatchObject({
        match_type: 'exact',
        score: 100,
        proposed_text: '是',
      });
    });
  });

  it('without context take the place of a contextual default', async () => {
    const { files } = await memoryFiles();
    const [contextual = '', plain = ''] = trust(
      files,
      proposal('はい', '是', { context: { speaker: 'A' } }),
      proposal('はい', '好'),
    );
    files.read(null, (store) => {
      expect(findRecord(store, contextual)?.is_default).toBe(false);
      expect(findRecord(store, plain)?.is_default).toBe(true);
    });
  });

  it('supersede the record that the reviewer names, and nothing changes when a confirmation is refused', async () => {
    const { files } = await memoryFiles();
    const [old = ''] = trust(files, proposal('はい', '是'));
    const next = proposal('はい', '好');
    files.write(null, (store) => proposeRecords(store, [next], 100));
    expect(confirm(files, next.record_id)).toMatchObject({ ok: false, error: { code: 'trusted_conflict' } });
    expect(confirm(files, 'tm_missing')).toMatchObject({ ok: false, error: { code: 'unknown_record' } });
    expect(confirm(files, next.record_id, { supersede_record_id: 'tm_missing' })).toMatchObject({
      ok: false,
      error: { code: 'unknown_record' },
    });
    files.read(null, (store) =>
      expect(countRecords(store).counts).toMatchObject({ trusted: 1, candidate: 1 }),
    );
    const done = confirm(files, next.record_id, { supersede_record_id: old });
    expect(done).toMatchObject({
      ok: true,
      value: { changed: true, record: { supersedes: old, is_default: true } },
    });
    expect(confirm(files, next.record_id)).toMatchObject({ ok: true, value: { changed: false } });
    files.read(null, (store) => {
      expect(findRecord(store, old)).toMatchObject({
        state: 'superseded',
        superseded_by: next.record_id,
        is_default: false,
      });
      expect(countRecords(store).counts).toMatchObject({ trusted: 1, superseded: 1, conflict_groups: 0 });
      expect(findMatches(store, lookup('はい'))).toHaveLength(1);
    });
  });

  it('come back from superseded with force and reason, and the history keeps every change', async () => {
    const { files } = await memoryFiles();
    const [old = ''] = trust(files, proposal('はい', '是'));
    const next = proposal('はい', '好');
    files.write(null, (store) => proposeRecords(store, [next], 100));
    confirm(files, next.record_id, { supersede_record_id: old });
    expect(confirm(files, old)).toMatchObject({ error: { code: 'invalid_transition' } });
    const back = confirm(files, old, {
      force: true,
      reason: 'the old one was right',
      supersede_record_id: next.record_id,
    });
    expect(back).toMatchObject({ ok: true, value: { record: { state: 'trusted', superseded_by: null } } });
    files.read(null, (store) => {
      expect(recordHistory(store, old).map(({ action, from, to }) => [action, from, to])).toEqual([
        ['confirm', 'candidate', 'trusted'],
        ['supersede', 'trusted', 'superseded'],
        ['confirm', 'superseded', 'trusted'],
      ]);
      expect(recordHistory(store, old).at(-1)).toMatchObject({
        reason: 'the old one was right',
        reviewer: 'mika',
        at: 300,
      });
    });
  });
});

describe('rejected records', () => {
  it('match nothing, and are not proposed again', async () => {
    const { files } = await memoryFiles();
    const known = proposal('はい', '是');
    files.write(null, (store) => {
      proposeRecords(store, [known], 100);
      const request = { ...NOTE, record_id: known.record_id, reason: 'wrong' };
      expect(rejectRecord(store, request)).toMatchObject({ ok: true, value: { changed: true } });
      expect(rejectRecord(store, request)).toMatchObject({ ok: true, value: { changed: false } });
      expect(proposeRecords(store, [proposal('はい', '是')], 100)).toMatchObject([
        { outcome: 'known', state: 'rejected' },
      ]);
      expect(findMatches(store, lookup('はい'))).toEqual([]);
    });
  });

  it('may have been trusted: another trusted one of the text serves instead, and their conflict ends', async () => {
    const { files } = await memoryFiles();
    const [one, two] = [proposal('はい', '是'), proposal('はい', '好的')];
    files.write(null, (store) => {
      proposeRecords(store, [one, two], 100);
      for (const { record_id } of [one, two]) {
        const request = { ...NOTE, record_id, supersede_record_id: null, force: true, reason: 'both' };
        expect(confirmRecord(store, request)).toMatchObject({ ok: true });
      }
      const wrong = findMatches(store, lookup('はい'))[0]!.record;
      const kept = wrong.record_id === one.record_id ? two : one;
      expect(countRecords(store).counts.conflict_groups).toBe(1);
      const request = { ...NOTE, record_id: wrong.record_id, reason: 'wrong' };
      expect(rejectRecord(store, request)).toMatchObject({ ok: false });
      expect(rejectRecord(store, { ...request, isNamed: true })).toMatchObject({ ok: true });
      expect(countRecords(store).counts).toMatchObject({ trusted: 1, rejected: 1, conflict_groups: 0 });
      expect(findMatches(store, lookup('はい'))).toMatchObject([
        { record: { record_id: kept.record_id, is_default: true }, decision: 'reuse' },
      ]);
    });
  });
});

describe('a record that gets another target', () => {
  it('is superseded by a trusted one with its source and place; a refusal leaves nothing behind', async () => {
    const { files } = await memoryFiles();
    const [old, rival] = [proposal('はい', '是'), proposal('はい', '好的')];
    files.write(null, (store) => {
      proposeRecords(store, [old, rival], 100);
      const confirm = { ...NOTE, supersede_record_id: null, force: false };
      confirmRecord(store, { ...confirm, record_id: old.record_id });
      const revise = {
        ...NOTE,
        tokenId: 'rin',
        supersede_record_id: null,
        force: false,
        target_text: '是的',
      };
      const revised = reviseRecord(store, { ...revise, record_id: old.record_id, revised_id: 'tm_new' });
      expect(revised).toMatchObject({
        ok: true,
        value: { changed: true, record: { record_id: 'tm_new', state: 'trusted', is_default: true } },
      });
      expect(findRecord(store, old.record_id)).toMatchObject({
        state: 'superseded',
        superseded_by: 'tm_new',
      });
      // The text of a candidate that is trusted with other words contradicts the one that is trusted now.
      const refused = { ...revise, record_id: rival.record_id, revised_id: 'tm_other', target_text: '对' };
      expect(reviseRecord(store, refused)).toMatchObject({ error: { code: 'trusted_conflict' } });
      expect(findRecord(store, 'tm_other')).toBe(null);
      expect(findRecord(store, rival.record_id)).toMatchObject({ state: 'candidate' });
      // The same text again changes nothing.
      const same = { ...revise, record_id: 'tm_new', revised_id: 'tm_third' };
      expect(reviseRecord(store, same)).toMatchObject({ ok: true, value: { changed: false } });
      // The refusal asks for the record to replace.
      const replacing = { ...refused, supersede_record_id: 'tm_new' };
      expect(reviseRecord(store, replacing)).toMatchObject({ value: { record: { state: 'trusted' } } });
      expect(findRecord(store, 'tm_new')).toMatchObject({ state: 'superseded', superseded_by: 'tm_other' });
      expect(findRecord(store, rival.record_id)).toMatchObject({ state: 'rejected' });
      // Nobody needs to force what a reviewer has just written.
      const back = { ...revise, record_id: 'tm_other', revised_id: 'tm_fourth' };
      expect(reviseRecord(store, back)).toMatchObject({ value: { record: { record_id: 'tm_new' } } });
      expect(countRecords(store).counts).toMatchObject({ trusted: 1, conflict_groups: 0 });
    });
  });

  it('opens no conflict with the words of a candidate, and becomes trusted with its own', async () => {
    const { files } = await memoryFiles();
    const [foo, bar] = [proposal('はい', '是'), proposal('はい', '好')];
    const revise = { ...NOTE, supersede_record_id: null, force: false, revised_id: 'tm_new' };
    files.write(null, (store) => {
      proposeRecords(store, [foo, bar], 100);
      const own = { ...revise, record_id: foo.record_id, target_text: '是' };
      expect(reviseRecord(store, own)).toMatchObject({
        value: { changed: true, record: { state: 'trusted' } },
      });
    });
    const [other = ''] = trust(files, proposal('いいえ', '不'));
    files.write(null, (store) => {
      const known = proposal('いいえ', '不是');
      const edited = proposal('いいえ', '没有');
      proposeRecords(store, [known, edited], 100);
      const change = { ...revise, record_id: edited.record_id, target_text: '不是' };
      expect(reviseRecord(store, change)).toMatchObject({ error: { code: 'trusted_conflict' } });
      expect(findRecord(store, edited.record_id)).toMatchObject({ state: 'candidate' });
      expect(findRecord(store, other)).toMatchObject({ state: 'trusted' });
      expect(countRecords(store).counts).toMatchObject({ conflict_groups: 0 });
    });
  });

  it('ends a conflict with the words of the other record', async () => {
    const { files } = await memoryFiles();
    const [a = '', b = ''] = trust(files, proposal('はい', '是'), proposal('はい', '好'));
    files.write(null, (store) => {
      const change = { ...NOTE, supersede_record_id: null, force: false, record_id: a, revised_id: 'tm_new' };
      const revised = reviseRecord(store, { ...change, target_text: '好' });
      expect(revised).toMatchObject({ value: { changed: true, record: { record_id: b, is_default: true } } });
      expect(findRecord(store, a)).toMatchObject({ state: 'superseded', superseded_by: b });
      expect(countRecords(store).counts).toMatchObject({ trusted: 1, conflict_groups: 0 });
    });
  });
});

describe('conflicts', () => {
  it('are listed by identity and resolved with the expected records only', async () => {
    const { files } = await memoryFiles();
    const [a = '', b = ''] = trust(files, proposal('はい', '是'), proposal('はい', '好'));
    const [c = '', d = ''] = trust(files, proposal('いいえ', '不'), proposal('いいえ', '不是'));
    files.write(null, (store) => {
      const { total, groups } = readConflicts(store, 100);
      expect(total).toBe(2);
      expect(groups.map(({ identity }) => identity)).toEqual(
        groups.map(({ identity }) => identity).toSorted(),
      );
      expect(readConflicts(store, 1).groups).toHaveLength(1);
      expect(findMatches(store, lookup('はい'))).toMatchObject([
        { decision: 'conflict' },
        { decision: 'conflict' },
      ]);
      const request = { ...NOTE, winner_record_id: b, reason: 'better', expected_trusted_record_ids: [a, b] };
      const wrong = { ...request, expected_trusted_record_ids: [b, c] };
      expect(resolveConflict(store, wrong)).toMatchObject({ error: { code: 'conflict_group_changed' } });
      expect(resolveConflict(store, request)).toMatchObject({
        ok: true,
        value: { superseded_record_ids: [a] },
      });
      expect(resolveConflict(store, request)).toMatchObject({
        ok: true,
        value: { superseded_record_ids: [] },
      });
      expect(resolveConflict(store, { ...request, winner_record_id: a })).toMatchObject({
        error: { code: 'conflict_group_changed' },
      });
      expect(findMatches(store, lookup('はい'))).toMatchObject([
        { score: 100, decision: 'reuse', proposed_text: '好' },
      ]);
      expect(readConflicts(store, 100).groups).toMatchObject([
        { records: [{ record_id: c }, { record_id: d }] },
      ]);
      expect(countRecords(store).counts).toMatchObject({ trusted: 3, superseded: 1, conflict_groups: 1 });
    });
  });
});

describe('the history of records', () => {
  it('cannot be changed or deleted', async () => {
    const { files, paths } = await memoryFiles();
    trust(files, proposal('はい', '是'));
    const raw = new DatabaseSync(paths.main);
    expect(() => raw.exec(`UPDATE record_history SET reviewer = 'x'`)).toThrow(/append-only/);
    expect(() => raw.exec('DELETE FROM record_history')).toThrow(/append-only/);
    raw.close();
  });
});
