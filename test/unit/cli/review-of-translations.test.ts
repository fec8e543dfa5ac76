import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CTL_EXITS, CtlFailure } from '../../../src/cli/ctl/ctl-exits.ts';
import { blockingText } from '../../../src/cli/ctl/translations/outcomes.ts';
import { parseControlBody } from '../../../src/contract/actions/parse-control-body.ts';
import {
  fakeTaskId,
  fakeTranslations,
  fakeUnit,
  refuse,
  storeFake,
  type FakeTranslations,
} from '../../support/fake-translations.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface Review {
  readonly task_id: string;
  readonly args?: readonly string[];
}

/** A service with three translated tasks, and the reviews that it got. */
function translated(onReview: (review: Review) => void = () => undefined) {
  const service = fakeTranslations(
    ['a.json', 'b.json', 'Story/c.json'].map((destination) =>
      storeFake(fakeUnit(destination, { destination }), { target: 'text', state: 'translated' }),
    ),
  );
  service.taskStatus = 'translated';
  const reviews: Review[] = [];
  const post: FakeTranslations['api']['post'] = async (action, body) => {
    const review = JSON.parse(body ?? '{}') as Review;
    expect([action, parseControlBody('translation-proofread', review).ok]).toEqual([
      'translation-proofread',
      true,
    ]);
    reviews.push(review);
    onReview(review);
    const accepted = { accepted: true, action, task_id: 'x', status: 'succeeded', deduplicated: false };
    const value = { ...accepted, ignored_fields: [], result: { written: 1, repeated: 0 } };
    return await Promise.resolve({ body: Buffer.from(''), value });
  };
  Object.assign(service, { api: { ...service.api, post } });
  return { service, reviews };
}

const accept = async ({ service }: ReturnType<typeof translated>, ...argv: readonly string[]) =>
  await service.run('translations', 'accept', ...argv);

const RIN = ['--reviewer', 'Rin'];

describe('single units', () => {
  it('are found by a text or a state, and their ids lead on', async () => {
    const { service } = translated();
    const first = service.units[0]!;
    first.source = '先生、おはよう';
    service.units[1]!.state = 'stale';
    const found = await service.run(
      'translations',
      'search',
      '先生',
      '--state',
      'translated',
      '--limit',
      '5',
    );
    expect([found.code, found.err]).toEqual([CTL_EXITS.ok, expect.stringContaining('1 unit\n')]);
    expect(found.out).toMatch(/translated .*先生、おはよう +text +a\.json/u);
    expect(service.reads.at(-1)).toContain('unit_state=translated&offset=0&limit=5');
    const none = await service.run('translations', 'search', 'キヴォトス');
    expect([none.code, none.err]).toEqual([CTL_EXITS.failed, expect.stringContaining('nothing fits')]);
    const nothing = await service.run('translations', 'search', '--in', 'source');
    expect([nothing.code, nothing.err]).toEqual([
      CTL_EXITS.usage,
      expect.stringContaining('say what to find'),
    ]);
    service.pageUnits = 1;
    const more = await service.run('translations', 'search', 'text', '--limit', '2');
    expect(more.err).toContain('2 units; --limit shows more');
    // The pages of a list are of one release.
    let pages = 0;
    service.onRead = () => {
      pages += 1;
      if (pages !== 2) return;
      service.releaseId = 'r2';
      service.units.splice(1);
    };
    const bogus = await service.run('translations', 'search', '--state', 'draft,bogus');
    expect(bogus).toMatchObject({ code: 2, out: '' });
    expect(bogus.err).toContain('--state draft,bogus: must be one or more of untranslated, draft,');
    const other = await service.run('translations', 'search', '--state', 'translated');
    expect([other.err, pages]).toEqual([expect.stringContaining('1 unit\n'), 3]);
  });

  it('get a translation, unless someone has stored another one meanwhile', async () => {
    const { service } = translated();
    const own = fakeTranslations(service.units);
    const { id, revision } = own.units[0]!;
    const tried = await own.run('translations', 'set', 'new text', '--unit', id, '--dry-run');
    expect([tried.code, own.units[0]!.target]).toEqual([CTL_EXITS.ok, 'text']);
    const { code, out } = await own.run(
      'translations',
      'set',
      'new text',
      '--unit',
      id,
      '--reason',
      'better',
    );
    expect([code, out]).toEqual([CTL_EXITS.ok, expect.stringContaining('new text')]);
    expect(own.updates.at(-1)).toMatchObject({
      args: [`expect=${id}:${revision}`],
      reason: 'better',
      translation_results: [{ unit_id: id, translated_text: 'new text' }],
    });
    const unknown = await own.run('translations', 'set', 'x', '--unit', 'tu1_unknown');
    expect([unknown.code, unknown.err]).toEqual([CTL_EXITS.failed, expect.stringContaining('no text unit')]);
    const empty = await own.run('translations', 'set', '', '--unit', id);
    expect([empty.code, empty.err]).toEqual([CTL_EXITS.usage, expect.stringContaining('is empty')]);
    const unnamed = await own.run('translations', 'set', 'x');
    expect([unnamed.code, unnamed.err]).toEqual([CTL_EXITS.usage, 'name the text unit: --unit ID']);
  });

  it('are accepted as they are now', async () => {
    const world = translated();
    const { id, revision, source, destination } = world.service.units[0]!;
    const { code, out } = await accept(world, ...RIN, '--unit', id);
    expect([code, out]).toEqual([CTL_EXITS.ok, `${id} is accepted\n`]);
    expect(world.reviews).toEqual([
      {
        task_id: fakeTaskId(destination),
        status: 'proofread',
        reviewer: 'Rin',
        translation_results: [{ unit_id: id, source_text: source, translated_text: 'text' }],
        args: [`expect=${id}:${revision}`],
      },
    ]);
    expect((await accept(world, ...RIN, '--unit', id, '--task', 'tt_1')).code).toBe(CTL_EXITS.usage);
    world.service.units[0]!.target = null;
    expect((await accept(world, ...RIN, '--unit', id)).err).toContain('has no translation');
  });
});

describe('slipway ctl translations accept', () => {
  it('accepts every translated task, and writes a report', async () => {
    const world = translated();
    const report = join(await temporaryDirectory(), 'report.jsonl');
    const { code, out } = await accept(world, ...RIN, '--reason', 'fine', '--yes', '--report', report);
    expect([code, out.split('\n').at(-2)]).toEqual([CTL_EXITS.ok, '3 tasks accepted']);
    expect(world.reviews).toEqual(
      ['a.json', 'b.json', 'Story/c.json'].map((file) => ({
        task_id: fakeTaskId(file),
        status: 'proofread',
        reviewer: 'Rin',
        reason: 'fine',
      })),
    );
    const rows = (await readFile(report, 'utf8')).trim().split('\n');
    expect(rows.map((row) => JSON.parse(row) as object)).toMatchObject(
      ['a.json', 'b.json', 'Story/c.json'].map((destination) => ({
        destination,
        outcome: 'accepted',
        units: 1,
      })),
    );
  });

  it('only tries with --dry-run', async () => {
    const world = translated();
    const { code, out } = await accept(world, ...RIN, '--dry-run', '--destination', 'Story/**');
    expect([code, out]).toEqual([
      CTL_EXITS.ok,
      `ready: ${fakeTaskId('Story/c.json')} (Story/c.json): 1 unit\n1 task ready\nnothing was changed: --dry-run\n`,
    ]);
    expect(world.reviews).toMatchObject([{ task_id: fakeTaskId('Story/c.json'), args: ['dry_run=true'] }]);
  });

  it('accepts published tasks that have units nobody has proofread', async () => {
    const world = translated();
    world.service.taskStatus = 'published';
    const first = world.service.units.find(({ destination }) => destination === 'a.json');
    if (first !== undefined) first.state = 'proofread';
    const { code, out } = await accept(world, ...RIN, '--yes');
    expect([code, out.split('\n').at(-2)]).toEqual([CTL_EXITS.ok, '2 tasks accepted']);
    expect(world.reviews.map(({ task_id: id }) => id)).toEqual(['b.json', 'Story/c.json'].map(fakeTaskId));
    const one = await accept(world, ...RIN, '--dry-run', '--task', fakeTaskId('b.json'));
    expect(one.out).toContain('1 task ready');
  });

  it('says that nothing waits', async () => {
    const world = translated();
    world.service.taskStatus = 'proofread';
    const { code, out } = await accept(world, ...RIN);
    expect([code, out]).toEqual([CTL_EXITS.ok, 'no task that fits has units to accept\n']);
  });

  it('names a refused task first, continues with the others, and fails', async () => {
    const world = translated(({ task_id: id }) => {
      if (id === fakeTaskId('b.json')) refuse('four_eyes_required');
    });
    const { code, out } = await accept(world, ...RIN, '--yes');
    expect([code, out.split('\n')]).toEqual([
      CTL_EXITS.failed,
      [
        `refused: ${fakeTaskId('b.json')} (b.json): refused (409 four_eyes_required)`,
        `accepted: ${fakeTaskId('a.json')} (a.json): 1 unit`,
        `accepted: ${fakeTaskId('Story/c.json')} (Story/c.json): 1 unit`,
        '1 task refused, 2 tasks accepted',
        '',
      ],
    ]);
  });

  it('sends a task again whose units got the target of an equal one meanwhile', async () => {
    let refusals = 2;
    const world = translated(({ task_id: id }) => {
      if (id === fakeTaskId('b.json') && refusals-- > 0) refuse('revision_changed');
    });
    const { code, out } = await accept(world, ...RIN, '--yes');
    expect([code, out.split('\n').at(-2)]).toEqual([CTL_EXITS.ok, '3 tasks accepted']);
    expect(world.reviews).toHaveLength(5);
  });

  it('sends a unit again that the daemon has copied, and not when somebody has decided about it', async () => {
    for (const [target, propagatedFrom, expected] of [
      ['text', 'tu1_other', CTL_EXITS.ok],
      ['other', 'tu1_other', CTL_EXITS.failed],
      // A return keeps the text.
      ['text', null, CTL_EXITS.failed],
    ] as const) {
      const world = translated(({ args }) => {
        const [unit] = world.service.units;
        if (unit === undefined || args?.[0]?.endsWith(':9') === true) return;
        Object.assign(unit, { revision: 9, target, propagatedFrom });
        refuse('revision_changed');
      });
      const { id } = world.service.units[0]!;
      const { code, err } = await accept(world, ...RIN, '--unit', id);
      expect(code).toBe(expected);
      expect(err.includes('somebody has changed')).toBe(expected === CTL_EXITS.failed);
    }
  });

  it('ends when the service cannot be used, and says what was not sent', async () => {
    const world = translated(() => {
      throw new CtlFailure(CTL_EXITS.unavailable, 'the daemon restarts');
    });
    const { code, out, err } = await accept(world, ...RIN, '--yes');
    expect([code, world.reviews.length, out.split('\n').at(-2)]).toEqual([
      CTL_EXITS.unavailable,
      1,
      '1 task refused, 2 tasks not_sent',
    ]);
    expect(err).toContain('the daemon restarts');
  });

  it('asks first: without a terminal it changes nothing unless --yes answers', async () => {
    const world = translated();
    const { code, err } = await accept(world, ...RIN);
    expect([code, world.reviews]).toEqual([CTL_EXITS.usage, []]);
    expect(err).toContain('accept accepts 3 units of 3 tasks; nothing was changed. Add --yes');
  });

  it.each([
    [[], CTL_EXITS.usage, 'say who accepts the translations: --reviewer NAME'],
    [[...RIN, '--task', 'x', '--destination', '*'], CTL_EXITS.usage, 'not both'],
    [[...RIN, '--destination', '/a'], CTL_EXITS.usage, 'must not begin with'],
    [[...RIN, '--task', 'tt_none'], CTL_EXITS.failed, 'there is no translation task tt_none'],
  ])('refuses %j', async (argv, exit, message) => {
    const { code, err } = await accept(translated(), ...argv);
    expect([code, err]).toEqual([exit, expect.stringContaining(message)]);
  });

  it('refuses a task that is not translated', async () => {
    const world = translated();
    world.service.taskStatus = 'in_progress';
    const { code, err } = await accept(world, ...RIN, '--task', fakeTaskId('a.json'));
    expect([code, err]).toEqual([
      CTL_EXITS.failed,
      `${fakeTaskId('a.json')} (a.json) is in_progress; only translated and published tasks are accepted`,
    ]);
  });
});

async function table(...rows: readonly (readonly string[])[]): Promise<string> {
  const path = join(await temporaryDirectory(), 'work.csv');
  const lines = ['unit_id,source,target,revision', ...rows.map((row) => row.join(','))];
  await writeFile(
    path,
    lines
      .map(
        (line) => `${line}
`,
      )
      .join(''),
  );
  return path;
}

describe('slipway ctl translations check', () => {
  it('finds with the checks of the daemon, names lines, and asks no service', async () => {
    const service = fakeTranslations([]);
    const path = await table(
      ['u1', 'おはよう{name}', '早上好', ''],
      ['u2', 'はい', '是', ''],
      ['u3', 'はい', '好的', ''],
      ['u4', 'いいえ', '', ''],
      ['u5', 'x', 'y', 'odd'],
    );
    const report = join(await temporaryDirectory(), 'report.jsonl');
    const { code, out } = await service.run('translations', 'check', path, '--report', report);
    expect(code).toBe(CTL_EXITS.failed);
    expect(out).toContain(`${path}:2: error: placeholder_mismatch: `);
    expect(out).toContain(`${path}:4: warning: inconsistent_target: `);
    expect(out).toContain('5 units, 2 errors, 1 warning\n');
    const rows = (await readFile(report, 'utf8')).trim().split('\n');
    expect(rows.map((row) => JSON.parse(row) as object)).toMatchObject([
      { line: 2, unit_id: 'u1', check: 'placeholder_mismatch', severity: 'error' },
      { line: 4, unit_id: 'u3', check: 'inconsistent_target', severity: 'warning' },
      { line: 6, unit_id: 'u5', check: 'unreadable', severity: 'error' },
    ]);
    expect(service.reads).toEqual([]);
  });

  it('fails on warnings with --strict only', async () => {
    const service = fakeTranslations([]);
    const path = await table(['u1', '「はい」', '“是', '']);
    const shown = await service.run('translations', 'check', path);
    expect(shown).toMatchObject({ code: CTL_EXITS.ok, out: expect.stringContaining('0 errors') as string });
    expect((await service.run('translations', 'check', path, '--strict')).code).toBe(CTL_EXITS.failed);
  });

  it('takes the languages of the options, which decide about checks', async () => {
    const service = fakeTranslations([]);
    const path = await table(['u1', 'Hello there', 'おはようございます', '']);
    const chinese = await service.run('translations', 'check', path, '--source-language', 'en', '--strict');
    expect(chinese.out).toContain('kana');
    const japanese = await service.run(
      'translations',
      'check',
      path,
      '--target-language',
      'ja',
      '--source-language',
      'en',
    );
    expect(japanese.out).not.toContain('kana');
    const wrong = await service.run('translations', 'check', path, '--target-language', 'klingon language');
    expect(wrong).toMatchObject({
      code: CTL_EXITS.usage,
      err: expect.stringContaining('not a language tag') as string,
    });
  });

  it('compares with the release and asks for the findings of the daemon with --server, and stores nothing', async () => {
    const service = fakeTranslations([fakeUnit('u1'), fakeUnit('u2'), fakeUnit('u3')]);
    service.blocks = (target) => (target === 'BAD' ? 'term_missing' : '');
    const path = await table(
      ['u1', '源u1', 'BAD', '0'],
      ['u2', 'old source', 'T', '0'],
      ['u3', '源u3', 'T', '0'],
    );
    const { code, out } = await service.run('translations', 'check', path, '--server');
    expect(code).toBe(CTL_EXITS.failed);
    expect(out).toContain(`${path}:2: error: term_missing: it is term_missing (u1)`);
    expect(out).toContain(`${path}:3: error: source_changed: `);
    expect(out).not.toContain(`${path}:4:`);
    expect([service.trials.length, service.updates]).toEqual([1, []]);
    const good = await service.run(
      'translations',
      'check',
      await table(['u3', '源u3', 'T', '0']),
      '--server',
      '-o',
      'json',
    );
    expect([good.code, JSON.parse(good.out)]).toMatchObject([CTL_EXITS.ok, { errors: 0, findings: [] }]);
  });
});

describe('the outcome of a target', () => {
  it('names what blocks a target, and its remarks apart from that', () => {
    const error = { check: 'ruby_incomplete', severity: 'error', message: 'no reading' };
    const remark = { check: 'length_ratio', severity: 'warning', message: 'long' };
    expect(blockingText([remark, error])).toBe(
      'ruby_incomplete: no reading (not blocking: length_ratio: long)',
    );
    expect(blockingText([error])).toBe('ruby_incomplete: no reading');
  });
});
