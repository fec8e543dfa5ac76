import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { askReport } from '../../../support/reports.ts';
import { createTestGlossary, type TestGlossary } from '../../../support/glossary.ts';

const REVIEWED = { reviewer: 'mika', reason: 'agreed' };

/** A Glossary with one term `t` in a state. */
async function withTerm(status: string): Promise<TestGlossary> {
  const world = await createTestGlossary();
  await world.add({ term_id: 't' });
  const t = { term_id: 't', ...REVIEWED };
  if (status === 'rejected') await world.act('update', { ...t, review_status: 'rejected' });
  if (status === 'approved' || status === 'deprecated') await world.act('approve', t);
  if (status === 'deprecated') await world.act('deprecate', t);
  return world;
}

describe('the lifecycle of a term', () => {
  const steps: Readonly<Record<string, readonly [action: string, body: object]>> = {
    approve: ['approve', REVIEWED],
    deprecate: ['deprecate', REVIEWED],
    reject: ['update', { ...REVIEWED, review_status: 'rejected' }],
    reopen: ['update', { review_status: 'draft' }],
    edit: ['update', { recommended_translation: '师父' }],
    'reviewed edit': ['update', { recommended_translation: '师父', ...REVIEWED }],
    'other source': ['update', { source: { source_kind: 'imported', observed_unix_seconds: 6 } }],
    delete: ['delete', {}],
    'forced delete': ['delete', { force: true }],
  };

  it.each([
    ['draft', 'approve', 'approved'],
    ['deprecated', 'approve', 'approved'],
    ['approved', 'approve', 'invalid_transition'],
    ['rejected', 'approve', 'invalid_transition'],
    ['approved', 'deprecate', 'deprecated'],
    ['draft', 'deprecate', 'invalid_transition'],
    ['deprecated', 'deprecate', 'invalid_transition'],
    ['rejected', 'deprecate', 'invalid_transition'],
    ['draft', 'reject', 'rejected'],
    ['approved', 'reject', 'invalid_transition'],
    ['deprecated', 'reject', 'invalid_transition'],
    ['rejected', 'reopen', 'draft'],
    ['approved', 'reopen', 'invalid_transition'],
    ['deprecated', 'reopen', 'invalid_transition'],
    ['draft', 'edit', 'draft'],
    ['approved', 'edit', 'draft'],
    ['approved', 'reviewed edit', 'approved'],
    ['approved', 'other source', 'approved'],
    ['deprecated', 'edit', 'deprecated'],
    ['rejected', 'edit', 'rejected'],
    ['draft', 'delete', 'gone'],
    ['rejected', 'delete', 'gone'],
    ['deprecated', 'delete', 'gone'],
    ['approved', 'delete', 'term_approved'],
    ['approved', 'forced delete', 'gone'],
  ])('%s, %s: %s', async (status, step, expected) => {
    const world = await withTerm(status);
    const before = await world.term('t');
    expect(before.review_status).toBe(status);
    const [action, body] = steps[step] ?? ['', {}];
    if (expected.includes('_')) {
      await expect(world.act(action, { term_id: 't', ...body })).rejects.toMatchObject({ code: expected });
      expect(await world.term('t')).toEqual(before);
      return;
    }
    const after = await world.act(action, { term_id: 't', ...body });
    expect(after.revision).toBe(before.revision + 1);
    expect(after.review_history.slice(0, -1)).toEqual(before.review_history);
    if (expected === 'gone') {
      expect(after.review_history.at(-1)).toMatchObject({ action: 'delete', from: status, to: null });
      await expect(world.term('t')).rejects.toThrow('no live term');
    } else {
      expect(await world.term('t')).toEqual(after);
      expect(after.review_status).toBe(expected);
      expect(after.review_history.at(-1)).toMatchObject({
        from: status,
        to: expected,
        revision: after.revision,
      });
    }
  });

  it('is written down with the person, the token and the time of each step', async () => {
    const world = await createTestGlossary();
    const t = { term_id: 't', ...REVIEWED };
    await world.add({ term_id: 't', reviewer: 'aru' });
    await world.clock.advance(60_000);
    await world.act('approve', t, { tokenId: 'lead', allow: null });
    await world.act('update', { term_id: 't', aliases: ['せんせい'] });
    await world.act('update', { ...t, review_status: 'rejected' });
    await world.act('update', { term_id: 't', review_status: 'draft' });
    const { review_history: history, created_at: created, updated_at: updated } = await world.term('t');
    const steps = history.map((each) => [each.action, each.from, each.to, each.reviewer, each.token_id]);
    expect(steps).toEqual([
      ['add', null, 'draft', 'aru', null],
      ['approve', 'draft', 'approved', 'mika', 'lead'],
      ['update', 'approved', 'draft', null, null],
      ['reject', 'draft', 'rejected', 'mika', null],
      ['reopen', 'rejected', 'draft', null, null],
    ]);
    expect(history[1]).toMatchObject({ reason: 'agreed', at: created + 60 });
    expect(updated).toBe(created + 60);
  });

  it('is not kept approved by a token that may not review', async () => {
    const edit = { term_id: 't', recommended_translation: '师父', ...REVIEWED };
    for (const [scope, status] of [
      ['translate', 'draft'],
      ['review', 'approved'],
    ] as const) {
      const world = await withTerm('approved');
      const caller = { tokenId: 'x', allow: ['translate' as const, scope] };
      expect(await world.act('update', edit, caller)).toMatchObject({ review_status: status });
    }
  });

  it('stores nothing for an update that changes nothing', async () => {
    const world = await withTerm('approved');
    const before = await world.term('t');
    const generation = world.glossary.generation();
    const same = { source_term: '先生', aliases: [], scope: {}, priority: 0 };
    expect(await world.act('update', { term_id: 't', ...same })).toEqual(before);
    expect(await world.term('t')).toEqual(before);
    expect(world.glossary.generation()).toBe(generation);
  });

  it('has a history that the database itself refuses to change', async () => {
    const { path, glossary } = await withTerm('approved');
    await glossary.close();
    const raw = new DatabaseSync(path);
    expect(() => raw.exec(`UPDATE review SET reviewer = 'x'`)).toThrow('append-only');
    expect(() => raw.exec('DELETE FROM review')).toThrow('append-only');
    raw.close();
  });
});

describe('live terms', () => {
  it('are found by an id of any words', async () => {
    const world = await createTestGlossary();
    await world.add({ term_id: '用語 1' });
    expect(
      await askReport(world.glossary.reports, 'translation.glossary.query', { source_text: 'x' }),
    ).toBeDefined();
    expect(await askReport(world.glossary.reports, 'translation.glossary.summary')).toMatchObject({
      available: true,
    });
  });

  it.each([
    ['a folded source term', { source_term: '先生' }, 'term_exists'],
    ['the same scope in another order', { scope: { b: '2', a: '1' } }, 'term_exists'],
    ['another category', { category: 'x' }, null],
    ['another scope', { scope: { a: '1' } }, null],
    ['another target language', { target_language: 'en' }, null],
    ['a language tag in another case', { target_language: 'ZH-hans' }, 'term_exists'],
  ])('are unique: %s', async (_, change, code) => {
    const world = await createTestGlossary();
    const scope = 'scope' in change && code !== null ? { scope: { a: '1', b: '2' } } : {};
    await world.add(scope);
    const second = world.add(change);
    if (code === null) await expect(second).resolves.toBeDefined();
    else await expect(second).rejects.toMatchObject({ code });
  });

  it('are unique after an update, too, and free a name when they are deleted', async () => {
    const world = await createTestGlossary();
    await world.add({ term_id: 'a' });
    await world.add({ term_id: 'b', source_term: 'ＨＰ' });
    await expect(world.act('update', { term_id: 'b', source_term: '先生' })).rejects.toMatchObject({
      code: 'term_exists',
    });
    await world.act('delete', { term_id: 'a' });
    expect(await world.act('update', { term_id: 'b', source_term: '先生' })).toMatchObject({ revision: 2 });
    await expect(world.add({ term_id: 'a', source_term: 'x' })).rejects.toMatchObject({
      code: 'term_exists',
    });
  });

  it('are approved only when no approved twin wants another translation', async () => {
    const world = await createTestGlossary();
    const person = { term_id: 'a', review_status: 'approved', reviewer: 'mika' };
    await world.add(person);
    const other = { category: 'x', recommended_translation: '教师' };
    const conflict = { code: 'term_conflict' };
    await expect(world.add({ ...person, ...other, term_id: 'b' })).rejects.toMatchObject(conflict);
    await world.add({ ...other, term_id: 'b' });
    await expect(world.act('approve', { term_id: 'b', reviewer: 'm' })).rejects.toMatchObject(conflict);
    expect(await world.act('approve', { term_id: 'b', reviewer: 'm', force: true })).toMatchObject({
      review_status: 'approved',
    });
    await world.add({ ...person, term_id: 'c', category: 'y', priority: 1, recommended_translation: 'z' });
    const closer = { term_id: 'c', priority: 0, ...REVIEWED };
    await expect(world.act('update', closer)).rejects.toMatchObject(conflict);
  });

  it('are approved only with a translation', async () => {
    const world = await createTestGlossary();
    await world.add({ term_id: 't' });
    await world.act('update', { term_id: 't', recommended_translation: ' ' });
    await expect(world.act('approve', { term_id: 't', reviewer: 'm' })).rejects.toMatchObject({
      code: 'invalid_transition',
    });
  });

  it('keep 64-bit numbers and every character', async () => {
    const world = await createTestGlossary();
    const source = {
      source_kind: 'imported',
      observed_unix_seconds: 2n ** 62n,
      source_ref: 'ref',
      source_author: 'あ',
      source_note: '\u202e𠮷',
    };
    const priority = -(2n ** 63n);
    const added = await world.add({ term_id: 't', source_term: '𠮷野\u200d家', priority, source });
    expect(added).toMatchObject({ source_term: '𠮷野\u200d家', priority, source });
    expect(await world.term('t')).toEqual(added);
  });

  it.each([
    ['unknown_term', 'update', { category: 'x' }],
    ['unknown_term', 'approve', { reviewer: 'm' }],
    ['unknown_term', 'deprecate', { ...REVIEWED }],
    ['unknown_term', 'delete', {}],
  ])('answer %s to %s of an id that is not there', async (code, action, body) => {
    const world = await createTestGlossary();
    await expect(world.act(action, { term_id: 'none', ...body })).rejects.toMatchObject({ code });
  });

  it.each<[string, object, readonly string[]]>([
    ['a blank source term', { source_term: '\u3000' }, ['/source_term']],
    ['an id with a line feed', { term_id: 'a\nb' }, ['/term_id']],
    ['a NUL', { source_term: 'a\u0000' }, ['/source_term']],
    ['half of a surrogate pair', { recommended_translation: '\ud800' }, ['/recommended_translation']],
    [
      'a NUL in a note',
      { source: { source_kind: 'manual', observed_unix_seconds: 1, source_note: 'a\u0000' } },
      ['/source/source_note'],
    ],
    ['blank aliases', { aliases: ['x', ' ', '\n'] }, ['/aliases/1', '/aliases/2']],
    ['an empty translation', { allowed_translations: [''] }, ['/allowed_translations/0']],
    ['texts that are not language tags', { source_language: 'not a tag' }, ['/source_language']],
    [
      'an unknown option and a blank key',
      { scope: { match: 'word', ' ': 'x' } },
      ['/scope/match', '/scope/ '],
    ],
  ])('refuse %s', async (_, body, pointers) => {
    const world = await createTestGlossary();
    await expect(world.add(body)).rejects.toMatchObject({
      code: 'invalid_request',
      options: { errors: pointers.map((pointer) => ({ pointer })) },
    });
    const { total } = await askReport(world.glossary.reports, 'translation.glossary.query');
    expect(total).toBe(0);
  });
});
