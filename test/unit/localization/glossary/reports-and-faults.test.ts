import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { createGlossaryCheck } from '../../../../src/localization/glossary/glossary.ts';
import { ThreadError } from '../../../../src/platform/threads/thread.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { createTestGlossary, type TestGlossary } from '../../../support/glossary.ts';
import { askReport } from '../../../support/reports.ts';
import { settle } from '../../../support/task-engine.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { canMount, mountTmpfs } from '../../../support/tmpfs.ts';

const APPROVED = { review_status: 'approved', reviewer: 'mika' };

async function diagnose(world: TestGlossary, source: string, context: object = {}) {
  return await askReport(world.glossary.reports, 'translation.glossary.diagnose', {
    source_text: source,
    context: JSON.stringify(context),
  });
}

describe('the reports of the Glossary', () => {
  describe('the summary of the Glossary', () => {
    it('counts live terms by state and by pair, with a generation that grows', async () => {
      const world = await createTestGlossary();
      const summary = async () => await askReport(world.glossary.reports, 'translation.glossary.summary');
      const counts = { draft: 0, approved: 0, deprecated: 0, rejected: 0 };
      expect(await summary()).toEqual({
        available: true,
        path: 'glossary.db',
        counts,
        generation: 0,
        pairs: [],
      });
      await world.add(APPROVED);
      await world.add({ source_term: 'x' });
      await world.add({ source_term: 'y', target_language: 'en', term_id: 'y' });
      await world.act('delete', { term_id: 'y' });
      expect(await summary()).toMatchObject({
        counts: { ...counts, draft: 1, approved: 1 },
        generation: 4,
        pairs: [{ source_language: 'ja', target_language: 'zh-Hans', counts: { approved: 1, draft: 1 } }],
      });
      expect(world.glossary.generation()).toBe(4);
    });
  });

  describe('the approved terms of a pair', () => {
    it('are those that hold everywhere, with their aliases, the important ones first', async () => {
      const world = await createTestGlossary();
      await world.add({
        ...APPROVED,
        source_term: 'アロナ',
        aliases: ['Arona'],
        recommended_translation: 'A',
      });
      await world.add({ ...APPROVED, priority: 9, scope: { match: 'substring' } });
      await world.add({ ...APPROVED, source_term: 'x', scope: { speaker: 'ネル' } });
      await world.add({ ...APPROVED, source_term: 'y', target_language: 'en' });
      await world.add({ source_term: 'draft' });
      const pair = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };
      expect(await world.glossary.approvedTerms({ path: null, ...pair })).toEqual([
        { source: '先生', target: '老师' },
        { source: 'アロナ', target: 'A' },
        { source: 'Arona', target: 'A' },
      ]);
      await expect(world.glossary.approvedTerms({ path: 'none.db', ...pair })).rejects.toMatchObject({
        code: 'file_not_found',
      });
    });
  });

  describe('the query of the Glossary', () => {
    it('finds folded parts of source terms and aliases, by category and state, in a stable order', async () => {
      const world = await createTestGlossary();
      await world.add({
        term_id: 'b',
        source_term: 'ガーデン',
        aliases: ['ＧＡＲＤＥＮ'],
        category: 'place',
      });
      await world.add({ term_id: 'a', source_term: 'アルガーデン', ...APPROVED });
      await world.add({ term_id: 'c', source_term: '100%_' });
      const find = async (query: object): Promise<string[]> => {
        const { items } = await askReport(world.glossary.reports, 'translation.glossary.query', { ...query });
        return items.map(({ term_id }) => term_id);
      };
      expect(await find({})).toEqual(['c', 'a', 'b']);
      expect(await find({ source_text: 'ｶﾞｰﾃﾞ' })).toEqual(['a', 'b']);
      expect(await find({ source_text: 'gard' })).toEqual(['b']);
      expect(await find({ source_text: '%_' })).toEqual(['c']);
      expect(await find({ source_text: '%' })).toEqual(['c']);
      expect(await find({ category: 'place' })).toEqual(['b']);
      expect(await find({ review_status: 'approved' })).toEqual(['a']);
      expect(await find({ source_text: 'ガーデン', review_status: 'draft', category: 'x' })).toEqual([]);
      const page = await askReport(world.glossary.reports, 'translation.glossary.query', { limit: 2 });
      expect(page).toMatchObject({ total: 3, limit: 2 });
      expect(page.items).toHaveLength(2);
    });
  });

  describe('the diagnosis of the Glossary', () => {
    it('uses the terms of now, with an identity that changes when they do', async () => {
      const world = await createTestGlossary();
      await world.add({ term_id: 't' });
      const target = { translated_text: '你好' };
      const draft = await diagnose(world, '先生', target);
      expect(draft).toMatchObject({
        constraints: [{ term_id: 't', requirement: 'should', source_span: { start: 0, end: 2 } }],
        decision: { blocked: false, codes: [] },
      });
      expect(draft.qa_identity).toMatch(/^gqa1_[a-z2-7]{26}$/);
      await world.act('approve', { term_id: 't', reviewer: 'm' });
      const approved = await diagnose(world, '先生', target);
      expect(approved).toMatchObject({
        constraints: [{ requirement: 'must', revision: 2 }],
        diagnostics: [
          { code: 'term_missing', severity: 'error', term_ids: ['t'], span: { start: 0, end: 2 } },
        ],
        decision: { blocked: true, codes: ['term_missing'] },
      });
      expect(approved.qa_identity).not.toBe(draft.qa_identity);
      expect((await diagnose(world, '先生', target)).qa_identity).toBe(approved.qa_identity);
      await world.act('delete', { term_id: 't', force: true });
      expect((await diagnose(world, '先生', target)).constraints).toEqual([]);
    });

    it('takes languages and facts of scopes from the context', async () => {
      const world = await createTestGlossary();
      await world.add({ ...APPROVED, target_language: 'en', scope: { speaker: 'アル' } });
      const constraints = async (context: object) =>
        (await diagnose(world, '先生', context)).constraints.length;
      expect(await constraints({ speaker: 'アル' })).toBe(0);
      expect(await constraints({ speaker: 'アル', target_language: 'EN' })).toBe(1);
      expect(await constraints({ target_language: 'en' })).toBe(0);
      await expect(diagnose(world, '先生', { target_language: '?' })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    });
  });

  describe('the port for other parts', () => {
    const unit = { sourceText: '先生', translatedText: '你好', context: {}, wasProofread: false };

    it.each([
      [{}, '', false, false],
      [{}, '', true, true],
      [{ default: 'always' }, '', false, true],
      [{ default: 'never' }, '', true, false],
      [{ categories: { person: 'always' } }, 'person', false, true],
      [{ default: 'always', categories: { person: 'never' } }, 'person', true, false],
    ])(
      'blocks missing terms by %o, category "%s", proofread %s: %s',
      async (termMissing, category, wasProofread, blocked) => {
        const world = await createTestGlossary({ configuration: { termMissing } });
        await world.add({ ...APPROVED, category });
        const { diagnoses } = await world.glossary.diagnose({ units: [{ ...unit, wasProofread }] });
        expect(diagnoses[0]?.decision.blocked).toBe(blocked);
        const strict = await world.glossary.diagnose({ units: [{ ...unit, wasProofread: !wasProofread }] });
        expect(strict.diagnoses[0]?.qa_identity).toBe(diagnoses[0]?.qa_identity);
      },
    );

    it('diagnoses many texts in their order, with the generation', async () => {
      const world = await createTestGlossary({ isThreaded: true });
      const generations: number[] = [];
      world.events.subscribe(({ generation: changed }) => generations.push(changed));
      await world.add(APPROVED);
      const units = Array.from({ length: 450 }, (_, index) => ({
        ...unit,
        sourceText: index % 2 ? '先生' : '石',
      }));
      const { generation, diagnoses } = await world.glossary.diagnose({ units });
      expect(diagnoses.map(({ constraints }) => constraints.length)).toEqual(
        units.map((_, index) => index % 2),
      );
      expect([generation, ...generations]).toEqual([1, 1]);
      expect(await world.glossary.diagnose({ units: [] })).toEqual({ generation: 1, diagnoses: [] });
    });

    it('names the oldest generation when the Glossary changes between the parts of many texts', async () => {
      let isChanged = false;
      const world: TestGlossary = await createTestGlossary({
        afterCall: async (name) => {
          if (name !== 'diagnose' || isChanged) return;
          isChanged = true;
          await world.add(APPROVED);
        },
      });
      const units = Array.from({ length: 201 }, () => unit);
      const { generation, diagnoses } = await world.glossary.diagnose({ units });
      expect([diagnoses[0], diagnoses[200]].map((found) => found?.constraints.length)).toEqual([0, 1]);
      expect(generation).toBe(0);
      expect(world.glossary.generation()).toBe(1);
    });
  });

  describe('another Glossary', () => {
    it('is read from the root, never written, and never outside of it', async () => {
      const world = await createTestGlossary();
      const other = await createTestGlossary();
      await other.add({ ...APPROVED, recommended_translation: '师父' });
      await other.glossary.close();
      const root = join(world.directory, 'glossary');
      await mkdir(join(root, 'sub'), { recursive: true });
      await rename(other.path, join(root, 'sub', 'other.db'));
      await writeFile(join(world.directory, 'secret.db'), '');
      await symlink('../secret.db', join(root, 'link.db'));
      await writeFile(join(root, 'text.db'), 'not a database, and long enough to be read as one'.repeat(9));

      const { reports } = world.glossary;
      const glossary_path = 'sub/other.db';
      expect(await askReport(reports, 'translation.glossary.summary', { glossary_path })).toMatchObject({
        available: true,
        path: glossary_path,
        counts: { approved: 1 },
      });
      const query = { source_text: '先生', glossary_path };
      expect((await askReport(reports, 'translation.glossary.diagnose', query)).constraints).toMatchObject([
        { recommended_translation: '师父' },
      ]);
      const unit = { sourceText: '先生', translatedText: null, context: {}, wasProofread: true };
      const ported = await world.glossary.diagnose({ units: [unit], glossaryPath: glossary_path });
      expect(ported.diagnoses[0]?.constraints).toHaveLength(1);

      for (const path of ['../secret.db', '/etc/passwd', 'link.db', 'sub', 'a\\b', 'sub//other.db']) {
        for (const report of ['translation.glossary.summary', 'translation.glossary.query'] as const) {
          await expect(askReport(reports, report, { glossary_path: path })).rejects.toMatchObject({
            code: 'invalid_path',
          });
        }
      }
      for (const [path, reason, code] of [
        ['none.db', 'there is no Glossary "none.db" in the folder glossary.root', 'invalid_path'],
        ['text.db', 'cannot be read', 'backend_unavailable'],
      ] as const) {
        expect(
          await askReport(reports, 'translation.glossary.summary', { glossary_path: path }),
        ).toMatchObject({
          available: false,
          reason: expect.stringContaining(reason) as string,
        });
        for (const report of ['translation.glossary.query', 'translation.glossary.diagnose'] as const) {
          const query = { glossary_path: path, source_text: 'x' };
          await expect(askReport(reports, report, query)).rejects.toMatchObject({
            code,
            ...(code === 'invalid_path'
              ? { options: { errors: [{ pointer: 'glossary_path', message: 'names no file' }] } }
              : {}),
          });
        }
      }
      const bodies = {
        add: {},
        update: { term_id: 't', category: 'x' },
        approve: { term_id: 't', reviewer: 'm' },
        deprecate: { term_id: 't', reviewer: 'm', reason: 'r' },
        delete: { term_id: 't' },
      };
      for (const [action, body] of Object.entries(bodies)) {
        const run = async (path: string): Promise<unknown> =>
          action === 'add'
            ? await world.add({ glossary_path: path })
            : await world.act(action, { ...body, glossary_path: path });
        await expect(run(glossary_path)).rejects.toMatchObject({ code: 'invalid_path' });
        await expect(run('link.db')).rejects.toMatchObject({ code: 'invalid_path' });
        await expect(run('none.db')).rejects.toMatchObject({ code: 'file_not_found' });
      }
    });

    it('can be the main one by name', async () => {
      const world = await createTestGlossary();
      const same = await createTestGlossary({
        directory: world.directory,
        configuration: { root: world.directory },
      });
      await same.glossary.open();
      expect(await same.add({ glossary_path: 'glossary.db' })).toMatchObject({ source_term: '先生' });
    });
  });
});

const SIGNAL = new AbortController().signal;
const UNAVAILABLE = { code: 'backend_unavailable' };
const UNIT = { sourceText: '先生', translatedText: null, context: {}, wasProofread: true };

/** A folder with a Glossary of one term, closed. */
async function folderWithTerm(): Promise<string> {
  const world = await createTestGlossary();
  await world.add({ term_id: 't' });
  await world.glossary.close();
  return world.directory;
}

async function expectUnavailable(world: TestGlossary, reason: string): Promise<void> {
  const { reports, check } = world.glossary;
  const contains = expect.stringContaining(reason) as string;
  expect(await askReport(reports, 'translation.glossary.summary')).toMatchObject({
    available: false,
    reason: contains,
  });
  for (const report of ['translation.glossary.query', 'translation.glossary.diagnose'] as const) {
    await expect(askReport(reports, report, { source_text: 'x' })).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: contains,
    });
  }
  await expect(world.add()).rejects.toMatchObject({ ...UNAVAILABLE, message: contains });
  await expect(world.glossary.diagnose({ units: [UNIT] })).rejects.toMatchObject(UNAVAILABLE);
  expect(await check.run(SIGNAL)).toMatchObject({ status: 'failing', message: contains });
  await world.glossary.open();
  expect(world.glossary.latestSummary()).toBeNull();
}

describe('a Glossary that cannot be used', () => {
  it.each<[string, string, (path: string) => Promise<void>]>([
    ['is missing', 'is missing now', async (path) => await rm(path)],
    ['is not a database', 'is damaged', async (path) => await writeFile(path, 'x'.repeat(5000))],
    ['is cut off', 'is damaged', async (path) => await truncate(path, 9000)],
    ['is of another program', 'another program', async (path) => pragma(path, 'application_id = 7')],
    ['is of a newer schema', 'newer daemon', async (path) => pragma(path, 'user_version = 99')],
  ])(
    'because it %s stays as it is, answers 503, and is used again when it is restored',
    async (_, reason, spoil) => {
      const directory = await folderWithTerm();
      const path = join(directory, 'glossary.db');
      const backup = join(directory, 'backup.db');
      await copyFile(path, backup);
      await spoil(path);
      const spoiled = await readFile(path).catch(() => null);

      const world = await createTestGlossary({ directory });
      await expectUnavailable(world, reason);
      expect(await readFile(path).catch(() => null)).toEqual(spoiled);

      await rm(path, { force: true });
      await rename(backup, path);
      expect(await world.term('t')).toMatchObject({ source_term: '先生' });
      await world.add({ source_term: 'x' });
      expect(await world.glossary.check.run(SIGNAL)).toEqual({
        status: 'ok',
        message: 'sound, terms: 2 draft, 0 approved, 0 deprecated, 0 rejected; generation 2',
      });
    },
  );

  it('because it was moved away while it is open does not write where nobody reads', async () => {
    const world = await createTestGlossary();
    await world.add({ term_id: 't' });
    await rename(world.path, `${world.path}.moved`);
    await expectUnavailable(world, 'is missing now');
    await rename(`${world.path}.moved`, world.path);
    expect(await world.term('t')).toBeDefined();
  });

  it('begins empty when its marker is deleted, too', async () => {
    const directory = await folderWithTerm();
    await rm(join(directory, 'glossary.db'));
    await rm(join(directory, '.glossary.db.created'));
    const world = await createTestGlossary({ directory });
    expect(await askReport(world.glossary.reports, 'translation.glossary.summary')).toMatchObject({
      available: true,
      generation: 0,
    });
  });

  it.runIf(canMount())('because its volume is read-only says so', async () => {
    const directory = await temporaryDirectory();
    mountTmpfs(directory, '4m');
    const data = join(directory, 'data');
    await mkdir(data);
    const first = await createTestGlossary({ directory: data });
    await first.add({ term_id: 't' });
    await first.glossary.close();
    execFileSync('mount', ['-o', 'remount,ro', directory]);
    const world = await createTestGlossary({ directory: data });
    await expectUnavailable(world, 'cannot be');
    execFileSync('mount', ['-o', 'remount,rw', directory]);
  });

  it.runIf(canMount())('for writing, because its volume is full, says so and can still be read', async () => {
    const directory = await temporaryDirectory();
    mountTmpfs(directory, '1m');
    const world = await createTestGlossary({ directory });
    await world.add({ term_id: 't' });
    const note = 'x'.repeat(60_000);
    const source = { source_kind: 'manual', observed_unix_seconds: 1, source_note: note };
    const fillUp = async (): Promise<void> => {
      for (let index = 0; index < 40; index += 1) await world.add({ source_term: `x${index}`, source });
    };
    await expect(fillUp()).rejects.toMatchObject({ code: 'data_full' });
    expect(await world.term('t')).toBeDefined();
  });
});

async function pragma(path: string, text: string): Promise<void> {
  const raw = new DatabaseSync(path);
  raw.exec(`PRAGMA ${text}`);
  raw.close();
  await Promise.resolve();
}

const HOUR_MS = 3_600_000;

describe('the doctor check of the Glossary', () => {
  it('checks the structure of the file every hour, and names damage until it is gone', async () => {
    const clock = new FakeClock();
    const path = join(await temporaryDirectory(), 'glossary.db');
    await writeFile(path, '');
    const results: (() => string | null)[] = [
      () => 'page 3 is broken',
      () => {
        throw new ThreadError('the thread crashed');
      },
      () => null,
    ];
    let checks = 0;
    const check = createGlossaryCheck({
      path,
      summary: async () => await Promise.resolve({ counts: { approved: 2 }, generation: 7, pairs: [] }),
      damage: async () => await Promise.resolve(null),
      clock,
      checkStructure: async () => {
        checks += 1;
        return await Promise.resolve(results.shift()?.() ?? null);
      },
    });
    const run = async (): Promise<string> => {
      const { message } = await check.run(new AbortController().signal);
      await settle();
      return message;
    };
    const sound = 'sound, terms: 2 approved; generation 7';
    const damaged = `the Glossary ${path} is damaged: page 3 is broken; stop the daemon and restore it from a backup with "slipway restore --database glossary"`;
    expect(await run()).toBe(sound);
    expect(checks).toBe(0);
    await clock.advance(HOUR_MS);
    expect([await run(), await run(), await run(), await run()]).toEqual([sound, damaged, damaged, sound]);
    expect(checks).toBe(3);
  });

  it('checks no structure of a file that was never made', async () => {
    const clock = new FakeClock();
    let checks = 0;
    const check = createGlossaryCheck({
      path: join(await temporaryDirectory(), 'glossary.db'),
      summary: async () => await Promise.resolve({ counts: {}, generation: 0, pairs: [] }),
      damage: async () => await Promise.resolve(null),
      clock,
      checkStructure: async () => {
        checks += 1;
        return await Promise.resolve('unable to open database file');
      },
    });
    await clock.advance(HOUR_MS);
    await check.run(SIGNAL);
    await settle();
    expect([await check.run(SIGNAL), checks]).toMatchObject([{ status: 'ok' }, 0]);
  });
});
