import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startTranslationSystem, type Answer, type TextFiles } from '../support/translation-system.ts';
import { until } from '../support/until.ts';

/** One file for each test, so that they do not see each other's targets. */
const TOPICS = ['refusals', 'accepted', 'returned', 'eyes', 'glossary', 'file', 'batch'] as const;
type Topic = (typeof TOPICS)[number];

const textsOf = (topic: Topic): readonly string[] => [
  `おはよう{0}、${topic}`,
  `<b>さようなら</b>、${topic}`,
  `先生、${topic}`,
];
const FILES: TextFiles = Object.fromEntries(TOPICS.map((topic) => [`${topic}.json`, textsOf(topic)]));
const GOOD = ['早上好{0}', '<b>再见</b>', '老师'];

const CONFIGURATION = { translation: { review: { fourEyes: true } } };
const started = sharedFixture(async (atEnd) => await startTranslationSystem(FILES, CONFIGURATION, atEnd));

/** The task of a topic, and actions on it by tokens. */
async function open(topic: Topic) {
  const system = started();
  const destination = `${topic}.json`;
  const { task_id } = await system.task(destination);
  const units = await system.units(destination);
  const id = (at: number): string => units[at]?.unit_id ?? '';
  const act = async (token: string, action: string, body: object): Promise<Answer> => {
    const response = await system.system.askDaemon(`/v1/control/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'slipway-token-id': token },
      body: JSON.stringify(body),
    });
    const { status, headers } = response;
    return { status, headers, body: (await response.json()) as Record<string, unknown> };
  };
  const result = (at: number, translated_text = GOOD[at], source_text = units[at]?.source_text) => ({
    unit_id: id(at),
    source_text,
    translated_text,
  });
  const update = async (body: object): Promise<Answer> =>
    await act('ann', 'translation-task-update', { task_id, ...body });
  return {
    ...system,
    id,
    taskId: task_id,
    act,
    result,
    update,
    translate: async () => {
      const results = [0, 1, 2].map((at) => result(at));
      expect((await update({ status: 'translated', translation_results: results })).status).toBe(202);
    },
    review: async (body: object, token = 'rin'): Promise<Answer> =>
      await act(token, 'translation-proofread', { task_id, reviewer: 'Rin', ...body }),
    current: async () => await system.task(destination),
    /** The task of a queued job, when it has ended. */
    ended: async ({ body }: Answer): Promise<Record<string, unknown>> => {
      const query = { task_id: String(body['task_id']) };
      return await until(async () => {
        const { task = {} } = await system.report('task.status', query);
        const ended = task as Record<string, unknown>;
        return ['succeeded', 'failed'].includes(String(ended['status'])) ? ended : null;
      });
    },
  };
}

const codeOf = ({ status, body }: Answer): readonly unknown[] => [status, body['code']];
const ACCEPT = { status: 'proofread' };

describe('translation-proofread of a running daemon', () => {
  it('refuses with each of its errors, and changes nothing', async () => {
    const { review, result, id, current, act, update, translate, taskId } = await open('refusals');
    const override = { qa_identity: 'gqa1_old', reviewer: 'r', reason: 'x', provenance: 'call' };
    const one = { ...ACCEPT, translation_results: [result(0)] };
    expect(codeOf(await review(ACCEPT))).toEqual([409, 'invalid_transition']);
    await translate();
    const claim = { worker_id: 'ben', lease_seconds: 3600, status: 'in_progress' };
    await update({ ...claim, args: [`expect=${id(2)}:1`] });
    const before = await current();
    const proofread = 'translation-proofread';
    const refusals = [
      await review({ ...ACCEPT, task_id: 'tt_unknown' }),
      await review({ ...ACCEPT, translation_results: [result(0, 'T', 'おはよう')] }),
      await review({ ...one, args: [`expect=${id(0)}:4`] }),
      await review({ ...one, glossary_override: { ...override, confirmed_unix_seconds: 1 } }),
      await review({ ...ACCEPT, translation_results: [result(0, '早上好')] }),
      await review(one, 'ann'),
      await review({ ...ACCEPT, translation_results: [result(2)] }),
      await review({ ...ACCEPT, args: ['partial=true'] }),
      await review({ status: 'pending' }),
      await act('rin', proofread, { translation_file: 'none.xlf', reviewer: 'Rin' }),
      await act('rin', proofread, { translation_file: '/etc/passwd', reviewer: 'Rin' }),
      await act('rin', proofread, { provider: 'nobody' }),
    ];
    expect(refusals.map(codeOf)).toEqual([
      [404, 'unknown_translation_task'],
      [409, 'source_mismatch'],
      [409, 'revision_changed'],
      [409, 'override_stale'],
      [422, 'qa_blocked'],
      [409, 'four_eyes_required'],
      [409, 'lease_held'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
      [404, 'file_not_found'],
      [400, 'invalid_request'],
      [422, 'provider_not_configured'],
    ]);
    expect(await current()).toEqual(before);
    expect(taskId).toBe(before.task_id);
  });

  it('accepts a task, makes its records trusted, and does nothing the second time', async () => {
    const { review, translate, current, ...accepted } = await open('accepted');
    await translate();
    expect(await review(ACCEPT)).toMatchObject({
      status: 202,
      body: { result: { written: 3, repeated: 0, memory: { confirmed: 3, not_confirmed: 0 } } },
    });
    expect(await current()).toMatchObject({ status: 'proofread', unit_counts: { proofread: 3 } });
    const { matches } = await accepted.report('translation.memory.query', {
      source_text: textsOf('accepted')[2]!,
    });
    expect(matches).toMatchObject([{ proposed_text: '老师', record: { state: 'trusted', reviewer: 'Rin' } }]);
    expect((await review(ACCEPT)).body['result']).toMatchObject({ written: 0, repeated: 3 });
  });

  it('returns units with a reason, which are translated again and accepted', async () => {
    const { review, translate, update, result, current, ...returning } = await open('returned');
    await translate();
    const returned = await review({
      status: 'pending',
      reason: 'too stiff',
      translation_results: [result(2)],
    });
    expect(returned.body['result']).toMatchObject({ decision: 'returned', memory: { rejected: 1 } });
    expect(await current()).toMatchObject({ status: 'in_progress', reason: 'too stiff' });
    const { matches } = await returning.report('translation.memory.query', {
      source_text: textsOf('returned')[2]!,
    });
    expect(matches).toEqual([]);
    await update({ status: 'translated', translation_results: [result(2, '先生')] });
    expect((await review(ACCEPT)).body['result']).toMatchObject({ written: 3 });
  });

  it('lets another token accept a correction of a reviewer', async () => {
    const { review, translate, result, current } = await open('eyes');
    await translate();
    const corrected = { ...ACCEPT, translation_results: [result(2, '先生')] };
    expect(codeOf(await review(corrected))).toEqual([409, 'four_eyes_required']);
    expect((await review(ACCEPT)).status).toBe(202);
    expect(await current()).toMatchObject({ status: 'proofread' });
  });

  it('blocks a missing term once the container was proofread, and takes an override', async () => {
    const { review, act, translate, result } = await open('glossary');
    await act('ann', 'translation-glossary-add', {
      source_term: '先生',
      recommended_translation: '老师',
      source_language: 'ja',
      target_language: 'zh-Hans',
      review_status: 'approved',
      reviewer: 'r',
      scope: { destination: 'glossary.json' },
      source: { source_kind: 'manual', observed_unix_seconds: 1 },
    });
    await translate();
    expect((await review(ACCEPT)).status).toBe(202);
    await act('ann', 'translation-task-update', {
      task_id: (await started().task('glossary.json')).task_id,
      translation_results: [result(2, '夏莱')],
    });
    const refused = await review({ ...ACCEPT, translation_results: [result(2, '夏莱')] });
    expect(codeOf(refused)).toEqual([422, 'qa_blocked']);
    const [identity] = /gqa1_[a-z2-7]+/.exec(String(refused.body['detail'])) ?? [];
    const glossary_override = {
      qa_identity: identity,
      reviewer: 'Rin',
      reason: 'a name here',
      provenance: 'call',
      confirmed_unix_seconds: 1,
    };
    expect(
      (await review({ ...ACCEPT, translation_results: [result(2, '夏莱')], glossary_override })).status,
    ).toBe(202);
  });

  it('exports a file for translators, and takes it back as a reviewed one', async () => {
    const { act, ended, translate, current, system, ...reports } = await open('file');
    await translate();
    const add = { id: 'once', group: 'i18n', action: 'handoff-export', delay_seconds: 0, max_runs: 1 };
    const args = ['format=csv', 'states=translated', 'include=file.json'];
    expect((await act('ann', 'schedule-add', { ...add, args })).status).toBe(202);
    const last = await until(
      async () => (await reports.report('translation.handoff'))['last_export'] ?? null,
    );
    expect(last).toMatchObject({ file: 'handoff/r1.zh-Hans.csv', units: 3 });
    const exchange = join(system.directory, 'data', 'exchange');
    await writeFile(join(exchange, 'bad.xlf'), '<!DOCTYPE x [<!ENTITY a "b">]><xliff/>');
    const importAs = async (token: string, translation_file: string) =>
      await ended(await act(token, 'translation-proofread', { translation_file, reviewer: 'Rin' }));
    expect(await importAs('rin', 'bad.xlf')).toMatchObject({ failure_code: 'file_refused' });
    expect(await importAs('ann', 'handoff/r1.zh-Hans.csv')).toMatchObject({
      failure_code: 'import_refused',
      result: { counts: { four_eyes_required: 3 } },
    });
    expect(await current()).toMatchObject({ unit_counts: { translated: 3 } });
    expect(await importAs('rin', 'handoff/r1.zh-Hans.csv')).toMatchObject({
      status: 'succeeded',
      result: { counts: { accepted: 3 }, memory: { confirmed: 3 } },
    });
    expect(await current()).toMatchObject({ status: 'proofread', unit_counts: { proofread: 3 } });
  });

  it('checks translated tasks in a batch, and accepts nothing', async () => {
    const { act, ended, translate, current } = await open('batch');
    await translate();
    const task = await ended(await act('rin', 'translation-proofread', { max_tasks: 100 }));
    expect(task).toMatchObject({ kind: 'proofread', status: 'succeeded' });
    expect(task['result']).toMatchObject({ blocked: 0 });
    expect(await current()).toMatchObject({ status: 'translated', unit_counts: { translated: 3 } });
  });
});
