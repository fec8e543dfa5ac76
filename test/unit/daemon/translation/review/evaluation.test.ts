import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openReviewWorld, reviewUnit, type ReviewWorld } from '../../../../support/review-world.ts';

const FIXTURE = { provider: 'fixture', fixture_path: 'evaluation.jsonl' };

/** Two translated targets, and a file with what an evaluation finds in the first. */
async function open(): Promise<ReviewWorld> {
  const world = await openReviewWorld();
  world.store('b.json', [{ text: 'T0' }, { text: 'T1' }]);
  await found(world, [{ severity: 'warning', message: 'means "yes"\u0000' }]);
  return world;
}

/** Writes what the next evaluation finds in the first unit. */
async function found(world: ReviewWorld, findings: readonly object[], more = ''): Promise<void> {
  const folder = join(world.exchange, '..', 'fixtures');
  await mkdir(folder, { recursive: true });
  const item = { unit_id: reviewUnit('b.json', 0), findings };
  await writeFile(join(folder, FIXTURE.fixture_path), `${JSON.stringify(item)}\n${more}`);
}

const findingsOf = (world: ReviewWorld, text: string): unknown =>
  JSON.parse(
    String(world.rows(`SELECT findings FROM target WHERE target_text = '${text}'`)[0]?.['findings']),
  );

const FOUND = {
  check: 'evaluation',
  origin: 'evaluation',
  severity: 'warning',
  message: 'means "yes"',
  waivable: true,
  source_span: null,
  target_span: null,
};

describe('the evaluation of translated tasks', () => {
  it('adds findings, and neither changes nor accepts a target', async () => {
    const world = await open();
    const targets = () => world.rows('SELECT unit_id, target_text, state, revision FROM target');
    const before = [targets(), world.rows('SELECT * FROM target_history')];
    const queued = await world.act({ ...FIXTURE, args: ['max_tokens=1000'] });
    expect(queued).toMatchObject({ kind: 'proofread', args: { ...FIXTURE, max_tokens: 1000 } });
    expect(await world.run('proofread', FIXTURE)).toMatchObject({
      tasks: 1,
      units: 2,
      blocked: 0,
      inconsistent: 0,
      evaluation: {
        provider: 'fixture',
        dry_run: false,
        evaluated: 2,
        units_with_findings: 1,
        findings: 1,
        failures: {},
        stopped: null,
      },
    });
    expect(findingsOf(world, 'T0')).toEqual([FOUND]);
    expect(findingsOf(world, 'T1')).toEqual([]);
    expect([targets(), world.rows('SELECT * FROM target_history')]).toEqual(before);
    expect(world.task('b.json').status).toBe('translated');
  });

  it('keeps its findings while the target has its text, and replaces them with the next evaluation', async () => {
    const world = await open();
    await world.run('proofread', FIXTURE);
    await world.run('proofread', {});
    expect(findingsOf(world, 'T0')).toEqual([FOUND]);
    await found(world, [{ severity: 'info', message: 'stiff' }]);
    await world.run('proofread', FIXTURE);
    expect(findingsOf(world, 'T0')).toMatchObject([{ severity: 'info', message: 'stiff' }]);
    await found(world, []);
    await world.run('proofread', FIXTURE);
    expect(findingsOf(world, 'T0')).toEqual([]);
  });

  it('has findings that a reviewer can waive, that stay after the acceptance, and that go with the text', async () => {
    const world = await open();
    await world.run('proofread', FIXTURE);
    const unit_id = reviewUnit('b.json', 0);
    const accept = { status: 'proofread', reason: 'meant so', args: [`waive=${unit_id}:evaluation`] };
    await world.review(accept, { destination: 'b.json' });
    expect(world.rows('SELECT check_name, reviewer FROM waiver')).toEqual([
      { check_name: 'evaluation', reviewer: 'Rin' },
    ]);
    expect(findingsOf(world, 'T0')).toEqual([FOUND]);
    const translation_results = [{ unit_id, source_text: 'いいえ', translated_text: 'new' }];
    await world.review({ status: 'proofread', translation_results }, { destination: 'b.json' });
    expect(findingsOf(world, 'new')).toEqual([]);
  });

  it('comes around to all tasks by itself, and an estimate does not move it', async () => {
    const world = await open();
    world.store('a.json', [{ text: 'A0' }, { text: 'A1' }, { text: 'A2' }]);
    const units = async (args: object): Promise<unknown> =>
      (await world.run('proofread', { max_tasks: 1, ...args }))['units'];
    expect(await units({})).toBe(3);
    expect(await units({ ...FIXTURE, dry_run: true })).toBe(3);
    expect([await units(FIXTURE), await units(FIXTURE), await units(FIXTURE)]).toEqual([3, 2, 3]);
    expect(await units({})).toBe(2);
  });

  it('continues within a task that it could not finish', async () => {
    const world = await openReviewWorld();
    const sources = Array.from({ length: 201 }, (_, at) => `行${at}`);
    await world.build('r2', { 'b.json': sources });
    world.store(
      'b.json',
      sources.map((text) => ({ text })),
    );
    const last = { unit_id: reviewUnit('b.json', 200), fail: '500', times: 2 };
    await found(world, [], `${JSON.stringify(last)}\n`);
    await expect(world.run('proofread', FIXTURE)).rejects.toMatchObject({
      code: 'provider_error',
      details: { evaluated: 200 },
    });
    await found(world, []);
    expect(await world.run('proofread', FIXTURE)).toMatchObject({ evaluation: { evaluated: 1 } });
    expect(await world.run('proofread', FIXTURE)).toMatchObject({ evaluation: { evaluated: 201 } });
  });

  it('only estimates with dry_run', async () => {
    const world = await open();
    const before = world.everything();
    expect(await world.run('proofread', { ...FIXTURE, dry_run: true })).toEqual({
      tasks: 1,
      units: 2,
      changed: 0,
      blocked: 0,
      evaluation: expect.objectContaining({
        dry_run: true,
        evaluated: 2,
        findings: 0,
        usage: expect.objectContaining({ characters: 6 }) as unknown,
      }) as unknown,
    });
    expect(world.everything()).toEqual(before);
    expect(findingsOf(world, 'T0')).toEqual([]);
  });

  it('counts units that it cannot evaluate, and fails when the provider is in trouble', async () => {
    const world = await open();
    const fail = (kind: string, times: number) =>
      `${JSON.stringify({ unit_id: reviewUnit('b.json', 1), fail: kind, times })}\n`;
    await found(world, [{ severity: 'info', message: 'stiff' }], fail('malformed', 9));
    expect(await world.run('proofread', FIXTURE)).toMatchObject({
      tasks: 1,
      evaluation: { evaluated: 1, failures: { answer_malformed: 1 } },
    });
    await found(world, [], fail('500', 1));
    await expect(world.run('proofread', FIXTURE)).rejects.toMatchObject({
      code: 'provider_error',
      details: { evaluated: 0, failures: { provider_error: 2 }, stopped: 'provider_error' },
    });
    expect(findingsOf(world, 'T0')).toMatchObject([{ message: 'stiff' }]);
  });

  it('has no arguments of an evaluation without a provider', async () => {
    const world = await open();
    await expect(world.run('proofread', { max_tokens: 9 })).rejects.toThrow('is needed by');
  });
});
