import { expect, it } from 'vitest';
import { startTranslationSystem } from '../support/translation-system.ts';
import { until } from '../support/until.ts';

const FILES = { 'origin.json': ['先生'], 'filled.json': ['先生'], 'reviewed.json': ['先生'] };
const REVIEWED = { reviewer: 'Rin', reason: 'agreed' };

it('a resolved conflict marks unreviewed targets with the wording that lost, and no others', async () => {
  const rules = [{ destination: ['*'], repetitions: false }];
  const world = await startTranslationSystem(FILES, { parse: { rules } });
  const act = async (action: string, body: object): Promise<string> => {
    const { status, body: answer } = await world.act(action, body);
    expect([status, answer]).toEqual([202, expect.anything()]);
    return String(answer['task_id']);
  };
  const taskIdOf = async (file: string): Promise<string> => (await world.task(file)).task_id;
  const translationOf = async (file: string) => (await world.units(file))[0]?.translation ?? {};
  const type = async (translated_text: string): Promise<void> => {
    const [unit] = await world.units('origin.json');
    const result = { unit_id: unit?.unit_id, source_text: '先生', translated_text };
    const task_id = await taskIdOf('origin.json');
    await act('translation-task-update', { task_id, status: 'translated', translation_results: [result] });
  };
  const recordOf = async (target: string): Promise<string> => {
    const { matches } = await world.report('translation.memory.query', { source_text: '先生' });
    const records = (matches as { record: Record<string, string> }[]).map(({ record }) => record);
    return records.find((record) => record['target_text'] === target)?.['record_id'] ?? '';
  };

  await type('老师');
  const old = await recordOf('老师');
  await act('translation-memory-confirm', { record_id: old, ...REVIEWED });
  const task_id = await act('translation-worker-run', { provider: 'memory-only' });
  // Until its end the run has leases of the tasks.
  await until(async () => {
    const { task } = await world.report('task.status', { task_id });
    return (task as { status: string }).status === 'succeeded';
  });
  expect(await translationOf('reviewed.json')).toMatchObject({ target_text: '老师' });
  expect(await translationOf('filled.json')).toMatchObject({ target_text: '老师' });
  expect(await translationOf('filled.json')).toMatchObject({ author: { kind: 'memory' }, findings: [] });
  const accepted = { task_id: await taskIdOf('reviewed.json'), status: 'proofread', ...REVIEWED };
  await act('translation-proofread', accepted);

  await type('师傅');
  const winner_record_id = await recordOf('师傅');
  await act('translation-memory-confirm', { record_id: winner_record_id, ...REVIEWED, force: true });
  const group = { winner_record_id, expected_trusted_record_ids: [old, winner_record_id], ...REVIEWED };
  await act('translation-memory-resolve-conflict', group);
  await until(async () => ((await translationOf('filled.json'))['findings'] as unknown[]).length > 0);
  expect(await translationOf('filled.json')).toMatchObject({
    target_text: '老师',
    state: 'draft',
    findings: [{ check: 'superseded_wording', severity: 'warning' }],
  });
  expect(await translationOf('reviewed.json')).toMatchObject({ state: 'proofread', findings: [] });
  const keep = { task_id: await taskIdOf('filled.json'), status: 'proofread', ...REVIEWED };
  await act('translation-proofread', keep);
  expect(await translationOf('filled.json')).toMatchObject({
    target_text: '老师',
    state: 'proofread',
    findings: [],
  });
});
