import { FIRST_UNIT } from '../../../../src/localization/parse/index/read/units-after.ts';
import { describe, expect, it } from 'vitest';
import { callerBy } from '../../../../src/platform/threads/caller.ts';
import { createTranslationMemory } from '../../../../src/localization/memory/translation-memory.ts';
import { openReviewWorld, REVIEW_SOURCES, reviewUnit } from '../../../support/review-world.ts';

const id = (at: number): string => reviewUnit('a.json', at);
const result = (at: number, text = `T${at}`, source = REVIEW_SOURCES['a.json']?.[at] ?? '') => ({
  unit_id: id(at),
  source_text: source,
  translated_text: text,
});
const texts = (...targets: readonly string[]) => targets.map((text) => ({ text }));
const OVERRIDE = { reviewer: 'Rin', reason: 'as agreed', provenance: 'call', confirmed_unix_seconds: 1 };
const ACCEPT = { status: 'proofread' };
const RETURN = { status: 'pending', reason: 'too stiff' };

/** The next release, with a line more in the first file. */
const CHANGED_SOURCES = { ...REVIEW_SOURCES, 'a.json': [...(REVIEW_SOURCES['a.json'] ?? []), 'もっと'] };

describe('accepting a task', () => {
  it('accepts every unit, keeps the author, and records who reviewed it', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    const done = await world.review({ ...ACCEPT, reason: 'fine' });
    expect(done).toMatchObject({
      decision: 'accepted',
      written: 3,
      repeated: 0,
      task: { status: 'proofread', unit_counts: { proofread: 3 }, reason: 'fine' },
      units: [0, 1, 2].map((at) => ({ unit_id: id(at), revision: 2, state: 'proofread' })),
      memory: { confirmed: 3, trusted_before: 0, not_confirmed: 0 },
    });
    expect(
      world.rows(`SELECT author_kind, token_id, reviewer, reviewer_token_id, reason, glossary_generation, task_id
        FROM target_history WHERE state = 'proofread'`),
    ).toEqual(
      [0, 1, 2].map(() => ({
        author_kind: 'person',
        token_id: 'translator',
        reviewer: 'Rin',
        reviewer_token_id: 'reviewer',
        reason: 'fine',
        glossary_generation: 7,
        task_id: world.task().task_id,
      })),
    );
    expect(world.rows("SELECT qa_identity FROM target WHERE target_text = 'T0'")).toEqual([
      { qa_identity: 'gqa1_おはよう_T0' },
    ]);
  });

  it('keeps the remark that people left at the task', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    const reason = 'remark: Ann: a stone or a gem?';
    world.closeTask(world.task().task_id, 'published', reason);
    expect(await world.review(ACCEPT)).toMatchObject({ task: { reason } });
  });

  it('is a success without an effect when it is repeated', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    await world.review(ACCEPT);
    const before = world.everything();
    expect(await world.review(ACCEPT)).toMatchObject({
      written: 0,
      repeated: 3,
      memory: { confirmed: 0, trusted_before: 3 },
    });
    const [task, ...others] = before;
    expect(world.everything().slice(1)).toEqual(others);
    expect(task).toMatchObject(world.rows('SELECT task_id, status, stored_status FROM task'));
  });

  it('lets missing terms block in its container from then on', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    await world.review(ACCEPT);
    await world.review(ACCEPT);
    expect(world.judged.map(({ wasProofread }) => wasProofread)).toEqual([false, true]);
    expect(world.rows('SELECT destination, archive_entry FROM proofread_container')).toEqual([
      { destination: 'a.json', archive_entry: null },
    ]);
  });

  it('lifts the holds of the accepted units only', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    await world.review({
      ...ACCEPT,
      translation_results: [result(0)],
      args: [`hold=${id(1)}`, `hold=${id(2)}`],
    });
    expect(world.rows('SELECT reviewer FROM hold')).toHaveLength(2);
    await world.review({ ...ACCEPT, translation_results: [result(1)] });
    expect(world.rows('SELECT unit_id FROM hold')).toHaveLength(1);
  });

  it('says that units were accepted when the Translation Memory does not answer, and confirms them with the next call', async () => {
    const broken = createTranslationMemory({
      thread: callerBy(() => Promise.reject(new Error('closed'))),
      clock: { now: () => new Date(0), monotonic: () => 0 } as never,
      createId: () => 'x',
      penaltyOf: () => 0,
    });
    const world = await openReviewWorld({ memory: broken });
    world.store('a.json', texts('T0', 'T1', 'T2'));
    expect(await world.review(ACCEPT)).toMatchObject({ written: 3, memory: 'unavailable' });
    expect(world.task().status).toBe('proofread');
  });

  it('says what it would do with `dry_run=true`, and changes nothing', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    const before = world.everything();
    for (const body of [ACCEPT, RETURN]) {
      const done = await world.review({ ...body, args: ['dry_run=true'] });
      expect(done).toMatchObject({ dry_run: true, written: 3 });
      expect(done).not.toHaveProperty('memory');
    }
    expect(world.everything()).toEqual(before);
    const blocked = { ...ACCEPT, translation_results: [result(0, 'BAD')], args: ['dry_run=true'] };
    await expect(world.review(blocked)).rejects.toMatchObject({ code: 'qa_blocked' });
  });

  it('accepts a task of many units in pages', async () => {
    const world = await openReviewWorld();
    const many = Array.from({ length: 450 }, (_, at) => `文${at}`);
    await world.build('r2', { 'a.json': many });
    for (let start = 0; start < many.length; start += 225) {
      const translation_results = many
        .slice(start, start + 225)
        .map((source, at) => result(start + at, `T${start + at}`, source));
      expect(await world.review({ ...ACCEPT, translation_results })).toMatchObject({
        written: 225,
        memory: { confirmed: 225 },
      });
    }
    expect(world.task()).toMatchObject({ status: 'proofread', unit_counts: { proofread: 450 } });
    expect(await world.review(ACCEPT)).toMatchObject({ repeated: 450, memory: { trusted_before: 450 } });
  });
});

describe('accepting single units', () => {
  it('stores corrected texts with the reviewer as their author', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    const done = await world.review({ ...ACCEPT, translation_results: [result(0, 'better'), result(1)] });
    expect(done).toMatchObject({
      written: 2,
      task: { status: 'translated', unit_counts: { proofread: 2, translated: 1 } },
    });
    expect(world.rows('SELECT target_text, token_id FROM target ORDER BY target_text')).toEqual([
      { target_text: 'T1', token_id: 'translator' },
      { target_text: 'T2', token_id: 'translator' },
      { target_text: 'better', token_id: 'reviewer' },
    ]);
  });

  it('continues a failed task, and does not accept it as a whole', async () => {
    const world = await openReviewWorld();
    world.closeTask(world.task().task_id, 'failed');
    await expect(world.review(ACCEPT)).rejects.toMatchObject({ code: 'invalid_transition' });
    await world.review({ ...ACCEPT, translation_results: [result(0)] });
    expect(world.task()).toMatchObject({ status: 'in_progress', unit_counts: { proofread: 1 } });
  });

  it('accepts a published task, as a whole and by unit', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    world.closeTask(world.task().task_id, 'published');
    await world.review({ ...ACCEPT, translation_results: [result(0)] });
    expect(world.task()).toMatchObject({ status: 'published', unit_counts: { proofread: 1, translated: 2 } });
    expect(await world.review(ACCEPT)).toMatchObject({ written: 2, task: { unit_counts: { proofread: 3 } } });
  });

  it('accepts a unit that had no target, in a task that is not complete', async () => {
    const world = await openReviewWorld();
    expect(await world.review({ ...ACCEPT, translation_results: [result(2)] })).toMatchObject({
      written: 1,
      task: { status: 'in_progress', unit_counts: { proofread: 1, untranslated: 2 } },
    });
  });

  it('goes to the successor of a superseded task, and says so', async () => {
    const world = await openReviewWorld();
    const [first] = world.tasks();
    await world.build('r2', CHANGED_SOURCES);
    const body = { task_id: first?.task_id, reviewer: 'Rin', ...ACCEPT };
    const done = (await world.act({ ...body, translation_results: [result(0)] })).result;
    expect(done).toMatchObject({ applied_to: [world.task().task_id], task: { status: 'superseded' } });
    expect(world.task().unit_counts).toMatchObject({ proofread: 1 });
    await expect(world.act(body)).rejects.toMatchObject({ code: 'invalid_transition' });
  });
});

describe('findings of targets to accept', () => {
  it('refuses blocked units and names them with their checks and identities', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0 TERM', 'T1 BAD', 'T2'));
    const before = world.everything();
    const refused = world.review(ACCEPT);
    await expect(refused).rejects.toMatchObject({
      code: 'qa_blocked',
      options: {
        errors: [
          {
            pointer: '/task_id',
            message: `${id(0)} (gqa1_おはよう_T0 TERM): term_missing: found term_missing`,
          },
          {
            pointer: '/task_id',
            message: `${id(1)} (gqa1_さようなら_T1 BAD): placeholders: found placeholders`,
          },
        ],
      },
    });
    expect(world.everything()).toEqual(before);
  });

  it('are accepted with an override of the Glossary or a waiver, and with no other decision', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0 TERM', 'T1 HMM', 'T2'));
    const glossary_override = { qa_identity: 'gqa1_おはよう_T0 TERM', ...OVERRIDE };
    await expect(world.review({ ...ACCEPT, glossary_override })).rejects.toMatchObject({
      code: 'qa_blocked',
    });
    expect(world.rows('SELECT * FROM glossary_override')).toEqual([]);
    const waive = { args: [`waive=${id(1)}:tags`], reason: 'as in the original' };
    expect(await world.review({ ...ACCEPT, glossary_override, ...waive })).toMatchObject({ written: 3 });
    expect(world.rows('SELECT check_name, reviewer, token_id FROM waiver')).toEqual([
      { check_name: 'tags', reviewer: 'Rin', token_id: 'reviewer' },
    ]);
  });
});

describe('the Translation Memory', () => {
  it('keeps a trusted record that says something else, and the review names it', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    await world.review(ACCEPT);
    const done = await world.review({ ...ACCEPT, translation_results: [result(0, 'other')] });
    expect(done).toMatchObject({
      written: 1,
      memory: {
        confirmed: 0,
        not_confirmed: 1,
        problems: [{ unit_id: id(0), record_id: 'tm_M0004', code: 'trusted_conflict' }],
      },
    });
    expect(await world.memory.record('tm_M0004')).toMatchObject({ state: 'candidate' });
    expect(await world.memory.record('tm_M0001')).toMatchObject({ state: 'trusted', reviewer: 'Rin' });
  });

  it('loses the candidates of returned targets', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    await world.review({ ...ACCEPT, translation_results: [result(1)] });
    const candidate = { unit_id: id(0), record_id: 'tm_M0002' };
    await world.memory.propose([
      {
        source_language: 'ja',
        target_language: 'zh-Hans',
        source_text: 'おはよう',
        target_text: 'T0',
        context: { destination: 'a.json', field_path: '/k0', next: 'さようなら' },
        provenance: {
          origin: 'worker',
          provider: null,
          provider_run_id: null,
          task_id: null,
          unit_id: candidate.unit_id,
          release_id: null,
        },
      },
    ]);
    expect(await world.review(RETURN)).toMatchObject({
      memory: { rejected: 1, not_rejected: 1, problems: [{ unit_id: id(1), code: 'invalid_transition' }] },
    });
    expect(await world.memory.record(candidate.record_id)).toMatchObject({
      state: 'rejected',
      reviewer: 'Rin',
      reason: 'too stiff',
    });
  });
});

describe('returning', () => {
  it('makes the units of a task drafts again, with the reason in their history', async () => {
    const world = await openReviewWorld();
    world.store('a.json', [...texts('T0', 'T1'), { text: 'T2 BAD', state: 'blocked' }]);
    await world.review({ ...ACCEPT, translation_results: [result(0)] });
    expect(await world.review(RETURN)).toMatchObject({
      decision: 'returned',
      written: 3,
      task: { status: 'blocked', reason: 'too stiff', unit_counts: { draft: 2, blocked: 1 } },
    });
    expect(
      world.rows(
        `SELECT state, target_text, token_id, reviewer_token_id FROM target_history WHERE reason = 'too stiff'`,
      ),
    ).toEqual([
      { state: 'draft', target_text: 'T0', token_id: 'translator', reviewer_token_id: 'reviewer' },
      { state: 'draft', target_text: 'T1', token_id: 'translator', reviewer_token_id: 'reviewer' },
      { state: 'blocked', target_text: 'T2 BAD', token_id: 'translator', reviewer_token_id: 'reviewer' },
    ]);
    expect(await world.review(RETURN)).toMatchObject({ written: 0, repeated: 3 });
  });

  it('returns only the named units, and a later acceptance ends it', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    expect(await world.review({ ...RETURN, translation_results: [result(1)] })).toMatchObject({
      written: 1,
      task: { status: 'in_progress', unit_counts: { translated: 2, draft: 1 } },
    });
    const returned = (): unknown => {
      const [release] = world.calls.handoff({ include: [], exclude: [] }).releases;
      return [release?.returned_total, release?.returned];
    };
    const row = { unit_id: id(1), source_text: 'さようなら', reviewer: 'Rin', reason: 'too stiff' };
    expect(returned()).toEqual([1, [expect.objectContaining(row)]]);
    await expect(world.review(ACCEPT)).rejects.toMatchObject({ code: 'invalid_transition' });
    const all = [result(0), result(1, 'T1!'), result(2)];
    expect(await world.review({ ...ACCEPT, translation_results: all })).toMatchObject({
      task: { status: 'proofread' },
    });
    expect(returned()).toEqual([0, []]);
  });

  it('makes a repeated target one of its own, which the unit that it repeated no longer changes', async () => {
    const world = await openReviewWorld();
    const repeated = { text: 'T1', propagatedFrom: new Uint8Array(16) };
    world.store('a.json', [...texts('T0'), repeated, ...texts('T2')]);
    await world.review({ ...RETURN, translation_results: [result(1)] });
    expect(world.rows(`SELECT state, propagated_from FROM target WHERE target_text = 'T1'`)).toEqual([
      { state: 'draft', propagated_from: null },
    ]);
  });

  it('refuses a target that the reviewer has not read', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    const before = world.everything();
    await expect(
      world.review({ ...RETURN, translation_results: [result(0, 'older')] }),
    ).rejects.toMatchObject({ code: 'revision_changed' });
    expect(world.everything()).toEqual(before);
  });
});

describe('the four-eyes rule', () => {
  it('refuses targets of the same token and names them', async () => {
    const world = await openReviewWorld({ fourEyes: true });
    world.store('a.json', [
      { text: 'T0', tokenId: 'reviewer' },
      { text: 'T1' },
      { text: 'T2', authorKind: 'machine', tokenId: null },
    ]);
    const before = world.everything();
    await expect(world.review(ACCEPT)).rejects.toMatchObject({
      code: 'four_eyes_required',
      message: expect.stringMatching(
        /^1 unit is the own work of this token, which another token must accept: /,
      ),
      options: { errors: [{ message: `${id(0)} has a target of the same token` }] },
    });
    await expect(
      world.review({ ...ACCEPT, translation_results: [result(1, 'corrected')] }),
    ).rejects.toMatchObject({ code: 'four_eyes_required' });
    expect(world.everything()).toEqual(before);
    await world.review({ ...ACCEPT, translation_results: [result(1), result(2)] });
    const other = { tokenId: 'second' };
    await world.review(ACCEPT, other);
    expect(world.task().status).toBe('proofread');
    expect(await world.review(ACCEPT)).toMatchObject({ written: 0, repeated: 3 });
  });

  it('refuses a target of the memory that only the same token wrote or confirmed', async () => {
    const world = await openReviewWorld({ fourEyes: true });
    world.store('a.json', [
      { text: 'T0', authorKind: 'memory', tokenId: 'reviewer' },
      { text: 'T1', authorKind: 'memory', tokenId: null },
    ]);
    await expect(
      world.review({ ...ACCEPT, translation_results: [result(0), result(1)] }),
    ).rejects.toMatchObject({
      code: 'four_eyes_required',
      options: {
        errors: [
          { message: expect.stringMatching(/Translation Memory that only the same token has written/) },
        ],
      },
    });
    expect(await world.review({ ...ACCEPT, translation_results: [result(1)] })).toMatchObject({ written: 1 });
  });

  it('knows the author of a record that a review made', async () => {
    const world = await openReviewWorld();
    world.store('a.json', [
      { text: 'T0', tokenId: 'reviewer' },
      { text: 'T1' },
      { text: 'T2', authorKind: 'machine', tokenId: null },
    ]);
    await world.review(ACCEPT);
    const ids = ['tm_M0001', 'tm_M0002', 'tm_M0003'];
    expect(await world.memory.soleTokens(ids)).toEqual(['reviewer', null, null]);
  });

  it('counts tokens without an id as one', async () => {
    const world = await openReviewWorld({ fourEyes: true });
    world.store('a.json', [{ text: 'T0', tokenId: null }]);
    const { task_id } = world.task();
    const body = { task_id, reviewer: 'Rin', ...ACCEPT, translation_results: [result(0)] };
    await expect(world.act(body, { tokenId: null, allow: null })).rejects.toMatchObject({
      code: 'four_eyes_required',
    });
    await world.act(body);
    expect(world.task().unit_counts).toMatchObject({ proofread: 1 });
  });
});

describe('refused reviews', () => {
  const cases: readonly (readonly [string, object, string])[] = [
    ['an unknown task', { task_id: 'tt_x', ...ACCEPT }, 'unknown_translation_task'],
    ['a task that is not translated', ACCEPT, 'invalid_transition'],
    [
      'another source text',
      { ...ACCEPT, translation_results: [result(0, 'T', 'おはよう。')] },
      'source_mismatch',
    ],
    [
      'another revision',
      { ...ACCEPT, translation_results: [result(0)], args: [`expect=${id(0)}:7`] },
      'revision_changed',
    ],
    [
      'an override of another diagnosis',
      {
        ...ACCEPT,
        translation_results: [result(0)],
        glossary_override: { qa_identity: 'gqa1_old', ...OVERRIDE },
      },
      'override_stale',
    ],
    ['a blocked target', { ...ACCEPT, translation_results: [result(0, 'BAD')] }, 'qa_blocked'],
    [
      'a unit of another task',
      { ...ACCEPT, translation_results: [{ ...result(0), unit_id: reviewUnit('b.json', 0) }] },
      'invalid_request',
    ],
    [
      'a unit that is named twice',
      { ...ACCEPT, translation_results: [result(0), result(0)] },
      'invalid_request',
    ],
    [
      'half of a surrogate pair',
      { ...ACCEPT, translation_results: [result(0, '\ud83d')] },
      'invalid_request',
    ],
    ['an unknown entry of args', { ...ACCEPT, args: ['partial=true'] }, 'invalid_request'],
    [
      'a waiver of no finding',
      { ...ACCEPT, translation_results: [result(0)], args: [`waive=${id(0)}:tags`], reason: 'x' },
      'invalid_request',
    ],
    [
      'a waiver without a reason',
      { ...ACCEPT, translation_results: [result(0, 'HMM')], args: [`waive=${id(0)}:tags`] },
      'invalid_request',
    ],
    ['a return without a reason', { status: 'pending' }, 'invalid_request'],
    ['a blank reason of a return', { status: 'pending', reason: ' ' }, 'invalid_request'],
    ['a blank reviewer', { ...ACCEPT, reviewer: ' ' }, 'invalid_request'],
    ['another status', { status: 'translated' }, 'invalid_request'],
    ['a field of the check of many tasks', { ...ACCEPT, max_tasks: 3 }, 'invalid_request'],
    [
      'a return with an override',
      { ...RETURN, glossary_override: { qa_identity: 'x', ...OVERRIDE } },
      'invalid_request',
    ],
  ];

  it.each(cases)('%s changes nothing', async (_name, body, code) => {
    const world = await openReviewWorld();
    const before = world.everything();
    await expect(world.review(body)).rejects.toMatchObject({ code });
    expect(world.everything()).toEqual(before);
  });

  it('a unit that someone else works on changes nothing', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    const claim = {
      taskId: world.task().task_id,
      status: 'in_progress' as const,
      results: [],
      failureReason: null,
      providerRunId: null,
      provider: null,
      judgedFor: null,
      override: null,
      workerId: 'ann',
      leaseSeconds: 3600,
      reviewer: null,
      reason: null,
      force: false,
      tokenId: null,
      expect: [],
      waive: [],
      hold: [],
      isTrial: false,
    };
    const { unitId } = (
      await world.unitsAfter({ from: FIRST_UNIT, limit: 1, maxCharacters: 100 }, new AbortController().signal)
    ).items[0]!;
    world.calls.applyUpdate({ ...claim, expect: [{ unitId, revision: 1, pointer: '/args/0' }] });
    const accept = { ...ACCEPT, translation_results: [result(0)] };
    const refused = world.review(accept);
    await expect(refused).rejects.toMatchObject({ code: 'lease_held' });
    // A review has no `force`.
    await expect(refused).rejects.toThrow(/; wait, or ask them to finish/);
    await world.review({ ...ACCEPT, translation_results: [result(1)] });
    expect(await world.review({ ...accept, reviewer: 'ann', args: ['dry_run=true'] })).toMatchObject({
      written: 1,
    });
    // The console claims under the name of the token; the same person may import under another name.
    expect(await world.review(accept, { tokenId: 'ann' })).toMatchObject({ written: 1 });
  });

  it('a target that changes while it is judged changes nothing', async () => {
    const world = await openReviewWorld({
      judge: {
        judge: (judged) => {
          world.store('a.json', texts('newer'));
          const judgements = judged.map(() => ({ findings: [], qaIdentity: 'gqa1_x' }));
          return Promise.resolve({ by: { key: 'rules', generation: 1 }, judgements });
        },
      },
    });
    world.store('a.json', texts('T0', 'T1', 'T2'));
    await expect(world.review(ACCEPT)).rejects.toMatchObject({ code: 'revision_changed' });
    expect(world.task().unit_counts).toEqual({ translated: 3 });
    expect(world.rows('SELECT * FROM review_row')).toEqual([]);
  });

  it('a task that is replaced during the review changes nothing', async () => {
    const world = await openReviewWorld({
      judge: {
        judge: async (judged) => {
          await world.build('r2', CHANGED_SOURCES);
          const judgements = judged.map(() => ({ findings: [], qaIdentity: 'gqa1_x' }));
          return { by: { key: 'rules', generation: 1 }, judgements };
        },
      },
    });
    world.store('a.json', texts('T0', 'T1', 'T2'));
    const one = { ...ACCEPT, translation_results: [result(0)] };
    await expect(world.review(one)).rejects.toMatchObject({ code: 'revision_changed' });
    expect(world.task().unit_counts).toEqual({ untranslated: 1, translated: 3 });
  });

  it('a release that does not change the file of the task keeps the review', async () => {
    const world = await openReviewWorld({
      judge: {
        judge: async (judged) => {
          await world.build('r2', { ...REVIEW_SOURCES, 'b.json': ['other'] });
          const judgements = judged.map(() => ({ findings: [], qaIdentity: 'gqa1_x' }));
          return { by: { key: 'rules', generation: 1 }, judgements };
        },
      },
    });
    world.store('a.json', texts('T0', 'T1', 'T2'));
    await world.review({ ...ACCEPT, translation_results: [result(0)] });
    expect(world.task()).toMatchObject({ release_id: 'r2', unit_counts: { translated: 2, proofread: 1 } });
  });

  it('an index that moved on asks for another try', async () => {
    const world = await openReviewWorld();
    world.store('a.json', texts('T0', 'T1', 'T2'));
    world.indexOnly('r2', { 'a.json': ['さあ'] });
    await expect(world.review(ACCEPT)).rejects.toMatchObject({
      code: 'backend_unavailable',
      options: { retryAfter: 5 },
    });
  });
});
