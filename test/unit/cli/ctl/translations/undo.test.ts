import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CTL_EXITS } from '../../../../../src/cli/ctl/ctl-exits.ts';
import {
  fakeTaskId,
  fakeTranslations,
  fakeUnit,
  refuse,
  storeFake,
  type FakeTranslations,
} from '../../../../support/fake-translations.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/** A service on whose units two runs and a person worked, at the times 10, 20 and 30. */
function worked(): FakeTranslations {
  const first = { run: 'run-1', token: 'bot', at: 10 };
  const second = { run: 'run-2', token: 'bot', at: 20 };
  const person = { token: 'ann', at: 30 };
  return fakeTranslations([
    storeFake(storeFake(fakeUnit('both'), { target: 'one', ...first }), { target: 'two', ...second }),
    storeFake(fakeUnit('only'), { target: 'two', ...second }),
    storeFake(storeFake(fakeUnit('corrected'), { target: 'two', ...second }), { target: 'hers', ...person }),
    storeFake(fakeUnit('first', { destination: 'b.json' }), { target: 'one', ...first }),
    fakeUnit('empty'),
  ]);
}

const targets = ({ units }: FakeTranslations) =>
  Object.fromEntries(units.map(({ id, target }) => [id, target]));
const BEFORE = { both: 'two', only: 'two', corrected: 'hers', first: 'one', empty: null };

describe('slipway ctl translations undo', () => {
  it('takes a run back: the target before it comes back, or none, and newer work stays', async () => {
    const service = worked();
    const report = join(await temporaryDirectory(), 'report.jsonl');
    const { code, out } = await service.run(
      'translations',
      'undo',
      '--yes',
      '--run',
      'run-2',
      '--report',
      report,
    );
    expect([code, targets(service)]).toEqual([CTL_EXITS.ok, { ...BEFORE, both: 'one', only: null }]);
    expect(out).toContain('1 restored, 1 taken_back');
    expect(service.updates).toMatchObject([
      {
        status: 'in_progress',
        args: ['expect=both:2', 'expect=only:1'],
        reason: 'taken back with slipway ctl translations undo',
      },
    ]);
    const rows = (await readFile(report, 'utf8')).trim().split('\n');
    expect(rows.map((row) => JSON.parse(row) as object)).toMatchObject([
      { unit_id: 'both', outcome: 'restored', target_text: 'one' },
      { unit_id: 'only', outcome: 'taken_back', target_text: '' },
    ]);
    const again = await service.run('translations', 'undo', '--yes', '--run', 'run-2');
    expect(again).toMatchObject({ code: CTL_EXITS.ok, out: 'nothing fits\n' });
  });

  it('asks first: without a terminal it changes nothing unless --yes answers', async () => {
    const service = worked();
    const before = targets(service);
    const refused = await service.run('translations', 'undo', '--run', 'run-2');
    expect(refused.code).toBe(CTL_EXITS.usage);
    expect(refused.err).toContain('undo takes back 2 translations; nothing was changed. Add --yes');
    expect([service.updates, targets(service)]).toEqual([[], before]);
  });

  it.each([
    [['--author', 'ann'], { corrected: 'two' }],
    [['--author', 'bot'], { both: null, only: null, first: null }],
    [['--since', '20'], { both: 'one', only: null, corrected: null }],
    [['--since', '1970-01-01T00:00:21Z'], { corrected: 'two' }],
    [['--author', 'bot', '--since', '15'], { both: 'one', only: null }],
    [['--run', 'run-1', '--destination', 'b*'], { first: null }],
    [['--author', 'bot', '--task', fakeTaskId('b.json')], { first: null }],
  ])('chooses by %j', async (argv, changed) => {
    const service = worked();
    expect((await service.run('translations', 'undo', '--yes', ...argv)).code).toBe(CTL_EXITS.ok);
    expect(targets(service)).toEqual({ ...BEFORE, ...changed });
  });

  it('does not bring back what someone has taken back', async () => {
    const service = worked();
    await service.run('translations', 'undo', '--yes', '--run', 'run-2');
    service.now = 40;
    await service.run('translations', 'undo', '--yes', '--author', 'translator');
    expect(targets(service)).toEqual({ ...BEFORE, both: 'one', only: null });
    const before = await service.run('translations', 'undo', '--yes', '--run', 'run-1');
    expect(before.out).toContain('2 taken_back');
    expect(targets(service)).toEqual({ ...BEFORE, both: null, only: null, first: null });
  });

  it('leaves a target of the Translation Memory: its token did not send it', async () => {
    const service = fakeTranslations([
      storeFake(fakeUnit('reused'), { target: 'hers', kind: 'memory', token: 'ann', at: 30 }),
    ]);
    const { out } = await service.run('translations', 'undo', '--yes', '--author', 'ann');
    expect(out).toBe('nothing fits\n');
  });

  it('takes a target for another source as none', async () => {
    const service = worked();
    const unit = service.units[0]!;
    unit.history[0]!.source = 'an older source';
    await service.run('translations', 'undo', '--yes', '--run', 'run-2');
    expect(unit.target).toBeNull();
  });

  it('changes nothing with --dry-run, and nothing without a choice', async () => {
    const service = worked();
    const shown = await service.run('translations', 'undo', '--run', 'run-2', '--dry-run');
    expect(shown.out).toContain('restored: both: one');
    expect(shown.out).toContain('nothing was changed: --dry-run');
    for (const argv of [[], ['--destination', 'a*'], ['--since', 'yesterday']]) {
      expect((await service.run('translations', 'undo', '--yes', ...argv)).code).toBe(CTL_EXITS.usage);
    }
    expect([service.updates, targets(service)]).toEqual([[], BEFORE]);
  });

  it('leaves a unit that is changed meanwhile, says what was done, and continues when repeated', async () => {
    const service = worked();
    service.onUpdate = ({ task_id: id }) => {
      if (id === fakeTaskId('b.json')) refuse('revision_changed');
    };
    const broken = await service.run('translations', 'undo', '--yes', '--author', 'bot');
    expect(broken.code).toBe(CTL_EXITS.failed);
    expect(broken.out).toContain('2 taken_back, 1 refused');
    service.onUpdate = () => undefined;
    const again = await service.run('translations', 'undo', '--yes', '--author', 'bot', '-o', 'json');
    expect(JSON.parse(again.out)).toEqual({ dry_run: false, outcomes: { taken_back: 1 }, failure: null });
    expect(targets(service)).toEqual({ ...BEFORE, both: null, only: null, first: null });
  });
});
