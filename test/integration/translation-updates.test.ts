import { describe, expect, it } from 'vitest';
import { sharedFixture } from '../support/shared-fixture.ts';
import {
  startTranslationSystem,
  type Answer,
  type TextFiles,
  type TranslationSystem,
} from '../support/translation-system.ts';
import { until } from '../support/until.ts';

/** One file for each test, so that they do not see each other's targets. */
const TOPICS = [
  'refusals',
  'repeated',
  'progress',
  'waived',
  'held',
  'glossary',
  'rules',
  'changed',
  'last',
] as const;
type Topic = (typeof TOPICS)[number];

const textsOf = (topic: Topic): readonly string[] => [
  `おはよう{0}、${topic}`,
  `<b>さようなら</b>、${topic}`,
  `先生、${topic}`,
];
/** Files with the same text, and one whose rule keeps it apart. */
const REPEATED: TextFiles = {
  'repeat-1.json': ['また明日'],
  'repeat-2.json': ['また明日', 'また明日'],
  'repeat-off.json': ['また明日'],
};
const FILES: TextFiles = {
  ...Object.fromEntries(TOPICS.map((topic) => [`${topic}.json`, textsOf(topic)])),
  ...REPEATED,
};
const GOOD = ['早上好{0}', '<b>再见</b>', '老师'];

const CONFIGURATION = {
  parse: {
    rules: [
      { destination: ['rules.json'], limits: [{ maxCharacters: 8 }] },
      { destination: ['repeat-off.json'], repetitions: false },
    ],
  },
};

const started = sharedFixture(async (atEnd) => await startTranslationSystem(FILES, CONFIGURATION, atEnd));

/** The task of a topic, and updates of it. */
async function open(topic: Topic) {
  const system = started();
  const destination = `${topic}.json`;
  const { task_id } = await system.task(destination);
  const units = await system.units(destination);
  const id = (at: number): string => units[at]?.unit_id ?? '';
  return {
    ...system,
    id,
    taskId: task_id,
    update: async (body: object): Promise<Answer> =>
      await system.act('translation-task-update', { task_id, ...body }),
    result: (at: number, translated_text = GOOD[at], source_text = units[at]?.source_text) => ({
      unit_id: id(at),
      source_text,
      translated_text,
    }),
    task: async () => await system.task(destination),
  };
}

/** Forbids a wording in one file. @returns the id of the term */
async function forbid(
  { act }: Pick<TranslationSystem, 'act'>,
  source_term: string,
  recommended_translation: string,
  destination: string,
): Promise<string> {
  const { body } = await act('translation-glossary-add', {
    source_term,
    recommended_translation,
    source_language: 'ja',
    target_language: 'zh-Hans',
    source: { source_kind: 'manual', observed_unix_seconds: 5 },
    scope: { destination },
    review_status: 'approved',
    reviewer: 'Ann',
  });
  const { term_id } = (body['result'] as { term: { term_id: string } }).term;
  await act('translation-glossary-deprecate', { term_id, reviewer: 'Ann', reason: 'old' });
  return term_id;
}

const codeOf = ({ status, body }: Answer): readonly unknown[] => [status, body['code']];

describe('translation-task-update of a running daemon', () => {
  it('refuses with each of its errors, and changes nothing', async () => {
    const { update, result, id, task } = await open('refusals');
    const before = await task();
    const all = [result(0), result(1), result(2)];
    const override = { qa_identity: 'gqa1_old', reviewer: 'r', reason: 'x', provenance: 'call' };
    const refusals = [
      await update({ task_id: 'tt_unknown', status: 'pending' }),
      await update({ translation_results: [result(0, 'T', 'おはよう')] }),
      await update({ translation_results: [result(0)], args: [`expect=${id(0)}:4`] }),
      await update({
        translation_results: [result(0)],
        glossary_override: { ...override, confirmed_unix_seconds: 1 },
      }),
      await update({ status: 'translated', translation_results: [...all.slice(1), result(0, '早上好')] }),
      await update({ status: 'translated', translation_results: all.slice(1) }),
      await update({ status: 'proofread' }),
      await update({ translation_results: [{ ...result(0), unit_id: 'tu1_aaaaaaaaaaaaaaaaaaaaaaaaaa' }] }),
      await update({ status: 'pending', args: ['dry_run=maybe'] }),
    ];
    expect(refusals.map(codeOf)).toEqual([
      [404, 'unknown_translation_task'],
      [409, 'source_mismatch'],
      [409, 'revision_changed'],
      [409, 'override_stale'],
      [422, 'qa_blocked'],
      [422, 'units_missing'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
      [400, 'invalid_request'],
    ]);
    expect(await task()).toEqual(before);
    expect((await update({ status: 'skipped', reason: 'no text' })).status).toBe(202);
    expect(codeOf(await update({ status: 'translated', translation_results: all }))).toEqual([
      409,
      'invalid_transition',
    ]);
  });

  it('stores results once for each run of a provider, and offers them to the Translation Memory', async () => {
    const { update, result, task, ...repeated } = await open('repeated');
    const body = {
      status: 'translated',
      provider: 'agency',
      provider_run_id: 'run-1',
      translation_results: [result(0), result(1), result(2)],
    };
    const first = await update(body);
    expect(first).toMatchObject({ status: 202, body: { result: { written: 3, repeated: 0 } } });
    const again = await update(body);
    expect(again).toMatchObject({ status: 202, body: { result: { written: 0, repeated: 3 } } });
    expect(await task()).toMatchObject({ status: 'translated', unit_counts: { translated: 3 } });
    const { matches } = await repeated.report('translation.memory.query', {
      source_text: textsOf('repeated')[2]!,
    });
    expect(matches).toMatchObject([
      {
        proposed_text: '老师',
        record: {
          state: 'candidate',
          context: { destination: 'repeated.json', previous: textsOf('repeated')[1] },
          provenance: { origin: 'task_update', provider: 'agency', provider_run_id: 'run-1' },
        },
      },
    ]);
  });

  it('keeps typed text while work is in progress, blocks it, and accepts it when it is corrected', async () => {
    const { update, result, id, task } = await open('progress');
    const typed = await update({
      status: 'in_progress',
      translation_results: [result(0, '早上'), result(1)],
    });
    expect(typed.body['result']).toMatchObject({
      units: [
        { unit_id: id(0), revision: 1, state: 'blocked' },
        { unit_id: id(1), revision: 1, state: 'draft' },
      ],
    });
    expect(await task()).toMatchObject({
      status: 'blocked',
      unit_counts: { blocked: 1, draft: 1, untranslated: 1 },
    });
    const rest = [result(0), result(2)];
    const done = await update({
      status: 'translated',
      translation_results: rest,
      args: [`expect=${id(0)}:1`],
    });
    expect(done.status).toBe(202);
    expect(await task()).toMatchObject({ status: 'translated', unit_counts: { translated: 3 } });
  });

  it('accepts a finding that a reviewer waives, and holds a unit', async () => {
    const { update, result, id, task } = await open('waived');
    const blocked = await update({ translation_results: [result(1, '再见')] });
    expect(blocked.body['result']).toMatchObject({ units: [{ state: 'blocked' }] });
    const waive = { args: [`waive=${id(1)}:tag_mismatch`, `hold=${id(0)}`] };
    expect(codeOf(await update({ status: 'in_progress', ...waive }))).toEqual([400, 'invalid_request']);
    const who = { reviewer: 'Ann', reason: 'the tag is not needed' };
    expect((await update({ status: 'in_progress', ...waive, ...who })).status).toBe(202);
    expect(await task()).toMatchObject({ unit_counts: { draft: 1, untranslated: 2 } });
  });

  it('refuses units that another person has claimed', async () => {
    const { update, result, id } = await open('held');
    const claim = { worker_id: 'ann', lease_seconds: 600, args: [`expect=${id(0)}:0`] };
    expect((await update({ status: 'in_progress', ...claim })).status).toBe(202);
    expect(codeOf(await update({ worker_id: 'ben', translation_results: [result(0)] }))).toEqual([
      409,
      'lease_held',
    ]);
    expect((await update({ worker_id: 'ann', translation_results: [result(0)] })).status).toBe(202);
    expect((await update({ worker_id: 'ben', force: true, translation_results: [result(0)] })).status).toBe(
      202,
    );
  });

  it('blocks what the Glossary forbids, until it is overridden', async () => {
    const { update, result, task, ...glossary } = await open('glossary');
    await forbid(glossary, '先生', '老師', 'glossary.json');
    const body = { status: 'translated', translation_results: [result(0), result(1), result(2, '老師')] };
    const refused = await update(body);
    expect(codeOf(refused)).toEqual([422, 'qa_blocked']);
    const [identity = ''] = /gqa1_\w+/.exec(String(refused.body['detail'])) ?? [];
    const glossary_override = {
      qa_identity: identity,
      reviewer: 'Ann',
      reason: 'a quote',
      provenance: 'mail',
      confirmed_unix_seconds: 1,
    };
    expect((await update({ ...body, glossary_override })).status).toBe(202);
    expect(await task()).toMatchObject({ status: 'translated' });
  });

  it('blocks stored targets when the Glossary changes, and gives them their states back', async () => {
    const { update, result, task, ...changed } = await open('changed');
    const translation_results = [result(0), result(1), result(2, '先生')];
    await update({ status: 'translated', translation_results });
    const term_id = await forbid(changed, '先生', '先生', 'changed.json');
    const blocked = await until(async () => {
      const now = await task();
      return now.status === 'blocked' && now.reason !== null ? now : null;
    });
    expect(blocked).toMatchObject({
      reason: expect.stringMatching(/^requalified: .*forbidden_translation \(gqa1_/) as string,
      unit_counts: { blocked: 1, translated: 2 },
    });
    await changed.act('translation-glossary-delete', { term_id, reviewer: 'Ann', reason: 'wrong' });
    await until(async () => (await task()).status === 'translated');
    expect(await task()).toMatchObject({ reason: null, unit_counts: { translated: 3 } });
  });

  it('judges by the rule of the container', async () => {
    const { update, result } = await open('rules');
    const stored = await update({ translation_results: [result(2, '老师老师老师老师老师')] });
    expect(stored.body['result']).toMatchObject({ units: [{ state: 'blocked' }] });
    const other = await open('held');
    const free = await other.update({ translation_results: [other.result(2, '老师老师老师老师老师')] });
    expect(free.body['result']).toMatchObject({ units: [{ state: 'draft' }] });
  });

  it('gives a target to the other units with the same text, which follow it', async () => {
    const system = started();
    const [origin] = await system.units('repeat-1.json');
    const { task_id } = await system.task('repeat-1.json');
    const targets = async () => {
      const units = (await Promise.all(Object.keys(REPEATED).map((file) => system.units(file)))).flat();
      return units.map(({ translation }) => translation?.['target_text']);
    };
    for (const translated_text of ['明天见', '明儿见']) {
      const translation_results = [
        { unit_id: origin?.unit_id, source_text: origin?.source_text, translated_text },
      ];
      await system.act('translation-task-update', { task_id, status: 'translated', translation_results });
      await until(async () => (await targets())[2] === translated_text);
      expect(await targets()).toEqual([translated_text, translated_text, translated_text, null]);
    }
    const [repeated] = await system.units('repeat-2.json');
    expect(repeated?.translation).toMatchObject({
      state: 'translated',
      propagated_from: origin?.unit_id,
      revision: 2,
    });
  });

  it('applies an update of a superseded task to its successor, and refuses it where the text changed', async () => {
    const { update, result, id, taskId, ...last } = await open('last');
    const changed = [...textsOf('last').slice(0, 2), '先輩'];
    await last.publish('r2', { ...FILES, 'last.json': changed });
    const done = await update({ translation_results: [result(0), result(1)], status: 'in_progress' });
    const [successor, old] = await last.tasks('last.json');
    expect(old).toMatchObject({ task_id: taskId, status: 'superseded' });
    expect(done.body['result']).toMatchObject({
      applied_to: [successor?.task_id],
      units: [{ unit_id: id(0), state: 'draft' }, { unit_id: id(1) }],
    });
    expect(successor?.unit_counts).toMatchObject({ draft: 2 });
    expect(codeOf(await update({ translation_results: [result(2)] }))).toEqual([409, 'source_mismatch']);
  });
});
