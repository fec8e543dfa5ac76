import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MemoryFiles } from '../../src/localization/memory/store/memory-files.ts';
import { proposal } from '../support/memory-records.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startDeepl } from '../support/deepl-server.ts';
import { libreTranslate, startTranslationServer } from '../support/translation-server.ts';
import { until } from '../support/until.ts';
import { startWorkerSystem } from '../support/worker-system.ts';
import { proposeRecords } from '../../src/localization/memory/store/memory-writer.ts';
import { confirmRecord } from '../../src/localization/memory/store/memory-changes.ts';

const TRANSLATIONS: Readonly<Record<string, string>> = {
  おはよう: '早上好',
  さようなら: '再见',
  '{0}個': '{0}个',
  はい: '是',
};
const FIXTURE = Object.entries(TRANSLATIONS).map(([source_text, translated_text]) => ({
  source_text,
  translated_text,
}));
const FILES = {
  'all.json': ['おはよう', 'さようなら', 'おはよう', '{0}個'],
  'reused.json': ['はい', 'いいえ'],
  'retried.json': ['また明日', 'おやすみ'],
  'failed.json': ['だめ', 'よし'],
  'estimated.json': ['先生が好き', 'お茶をどうぞ'],
  'cancelled.json': Array.from({ length: 200 }, (_, at) => `第${at}行の文`),
  'scheduled.json': ['猫がいる'],
  'deepl.json': ['<b>先生</b>が来た', '犬 & 猫'],
};

describe('a run of workers in a running daemon', () => {
  const started = sharedFixture(async (atEnd) => {
    const slow = await startTranslationServer(() => undefined, atEnd);
    const loop = {
      kind: 'libretranslate',
      url: slow.url,
      allowHosts: ['127.0.0.1'],
      prices: { charactersPerMillion: 1_000_000 },
    };
    const free = { ...loop, prices: {} };
    const fake = await startDeepl('secret-of-the-deepl-account', atEnd);
    const { url, tokenFile } = fake;
    const deepl = { kind: 'deepl', url, tokenFile, allowHosts: ['127.0.0.1'] };
    const providers = { loop, free, deepl };
    const system = await startWorkerSystem(FILES, { translation: { providers } }, atEnd);
    await system.fixture('all.jsonl', FIXTURE);
    return { ...system, slow, deepl: fake };
  });

  const taskOf = async (destination: string): Promise<string> => (await started().task(destination)).task_id;

  it('translates the open units of a task with prepared translations', async () => {
    const system = started();
    const task_id = await taskOf('all.json');
    const run = await system.run({ provider: 'fixture', fixture_path: 'all.jsonl', task_id });
    expect(run).toMatchObject({
      status: 'succeeded',
      result: {
        provider: 'fixture',
        worker_id: run.task_id,
        stopped: null,
        units: { translated: 3, propagated: 1, blocked: 0, failed: 0, left: 0, skipped: 0 },
        chunks: { done: 1 },
      },
      progress: { done: 4, total: 4, unit: 'units' },
    });
    expect(await system.task('all.json')).toMatchObject({
      status: 'translated',
      worker_status: 'succeeded',
      provider: 'fixture',
      unit_counts: { draft: 4 },
    });
    expect(await system.units('all.json')).toMatchObject([
      { source_text: 'おはよう', translation: { target_text: '早上好', state: 'draft' } },
      {},
      { source_text: 'おはよう', translation: { target_text: '早上好', state: 'draft' } },
      {},
    ]);
  });

  it('reuses a translation that a reviewer confirmed in another memory, without a call', async () => {
    const system = started();
    const root = join(system.system.directory, 'data', 'memory');
    await mkdir(root, { recursive: true });
    const files = new MemoryFiles({ main: join(root, 'other.db'), root });
    const record = proposal('はい', '是');
    files.write(null, (store) => proposeRecords(store, [record], 1));
    const note = { reviewer: 'r', reason: null, at: 2 };
    const confirmed = files.write(null, (store) =>
      confirmRecord(store, { ...note, record_id: record.record_id, supersede_record_id: null, force: false }),
    );
    expect(confirmed.ok).toBe(true);
    files.close();
    const task_id = await taskOf('reused.json');
    const run = await system.run({ provider: 'memory-only', translation_memory_path: 'other.db', task_id });
    expect(run).toMatchObject({ result: { units: { reused: 1, left: 1 }, usage: { requests: 0 } } });
    expect(await system.units('reused.json')).toMatchObject([
      { translation: { target_text: '是', state: 'draft' } },
      { source_text: 'いいえ' },
    ]);
  });

  it('retries a provider in trouble, and fails single units', async () => {
    const system = started();
    await system.fixture('trouble.jsonl', [
      { source_text: 'また明日', fail: '500', times: 1 },
      { source_text: 'また明日', translated_text: '明天见' },
      { source_text: 'おやすみ', translated_text: '晚安' },
      { source_text: 'よし', translated_text: '好' },
    ]);
    const body = {
      provider: 'fixture',
      fixture_path: 'trouble.jsonl',
      retry_backoff_seconds: 0,
      max_attempts: 2,
    };
    expect(await system.run({ ...body, task_id: await taskOf('retried.json') })).toMatchObject({
      status: 'succeeded',
      result: { units: { translated: 2 }, chunks: { retried: 1, done: 1 }, failures: { provider_error: 2 } },
    });
    const failed = await taskOf('failed.json');
    expect(await system.run({ ...body, task_id: failed })).toMatchObject({
      result: { units: { translated: 1, failed: 1 }, outcome: 'partly', failures: { not_in_fixture: 1 } },
    });
    expect(await system.task('failed.json')).toMatchObject({
      worker_status: 'failed',
      unit_counts: { draft: 1, untranslated: 1 },
    });
    await system.fixture('mended.jsonl', [{ source_text: 'だめ', translated_text: '不行' }]);
    const mended = { provider: 'fixture', fixture_path: 'mended.jsonl', task_id: failed };
    expect(await system.run(mended)).toMatchObject({ result: { units: { translated: 0 } } });
    expect(await system.run({ ...mended, force: true })).toMatchObject({
      result: { units: { translated: 1 } },
    });
  });

  it('estimates without a request, and stops at a cap', async () => {
    const system = started();
    const task_id = await taskOf('estimated.json');
    const before = system.slow.seen();
    const estimate = await system.run({ provider: 'loop', task_id, args: ['dry_run=true', 'max_cost=5.5'] });
    expect(estimate).toMatchObject({
      status: 'succeeded',
      result: {
        dry_run: true,
        units: { units: 2, translated: 2 },
        usage: { characters: 11, cost: 11 },
        fits: false,
      },
    });
    const suggested = await system.run({ provider: 'memory-only', task_id, args: ['suggest=open'] });
    expect(suggested).toMatchObject({ status: 'failed', failure_code: 'memory_only' });
    const capped = await system.run({ provider: 'loop', task_id, args: ['max_cost=5.5'] });
    expect(capped).toMatchObject({
      status: 'succeeded',
      result: { stopped: 'cap_reached', units: { left: 2 } },
    });
    expect(system.slow.seen()).toBe(before);
    expect(await system.task('estimated.json')).toMatchObject({
      status: 'pending',
      worker_status: 'idle',
      attempt: 0,
    });
  });

  it('is cancelled without losing finished units, beside a backup in the same lane', async () => {
    const system = started();
    const task_id = await taskOf('cancelled.json');
    const translate = libreTranslate((source) => source.replaceAll('の', '的'));
    let answered = 0;
    system.slow.reply = async (body, response, request) => {
      if (body !== null) answered += 1;
      // The third request waits until it is aborted.
      if (answered <= 2) await translate(body, response, request);
    };
    const run = await system.begin({ provider: 'loop', task_id, worker_id: 'night' });
    await until(() => answered === 3);
    expect(await system.task('cancelled.json')).toMatchObject({
      worker_status: 'leased',
      lease_owner: 'night',
    });
    const folder = { group: 'i18n', action: 'backup', id: 'now', max_runs: 1, delay_seconds: 86_400 };
    await system.act('schedule-add', folder);
    const { body } = await system.act('schedule-run', { id: 'now' });
    const [backup = ''] = (body['result'] as { task_ids: string[] }).task_ids;
    expect(await system.ended(backup)).toMatchObject({ status: 'succeeded' });
    await system.act('task-cancel', { task_id: run });
    expect(await system.ended(run)).toMatchObject({ status: 'cancelled' });
    expect(await system.task('cancelled.json')).toMatchObject({
      worker_status: 'cancelled',
      lease_owner: null,
      attempt: 0,
      unit_counts: { draft: 40, untranslated: 160 },
    });
  });

  it('translates with DeepL, whose glossary has the approved terms', async () => {
    const system = started();
    const task_id = await taskOf('deepl.json');
    const term = {
      source_term: '先生',
      recommended_translation: '先生',
      source_language: 'ja',
      target_language: 'zh-Hans',
      source: { source_kind: 'manual', observed_unix_seconds: 1 },
    };
    const approved = { review_status: 'approved', reviewer: 'r' };
    await system.act('translation-glossary-add', { ...term, ...approved, aliases: ['センセイ'] });
    await system.act('translation-glossary-add', { ...term, ...approved, scope: { speaker: 'ネル' } });
    await system.act('translation-glossary-add', { ...term, source_term: '犬' });
    const run = await system.run({ provider: 'deepl', task_id });
    expect(run).toMatchObject({
      status: 'succeeded',
      result: { outcome: 'succeeded', units: { translated: 2 }, usage: { requests: 3 } },
    });
    const [glossary] = system.deepl.glossaries.values();
    expect(glossary?.dictionaries[0]?.entries).toBe('先生\t先生\nセンセイ\t先生');
    expect(system.deepl.asked()[0]?.body).toMatchObject({
      text: ['<x id="1"/>先生<x id="2"/>が来た', '犬 &amp; 猫'],
      context: '先生が来た\n犬 猫',
      glossary_id: 'g1',
    });
    expect(JSON.stringify([run, await system.report('task.logs', { task_id: run.task_id })])).not.toContain(
      'secret-of-the-deepl-account',
    );
  });

  it('runs by a schedule, with the fields of the action as its arguments', async () => {
    const system = started();
    const task_id = await taskOf('scheduled.json');
    await system.fixture('cat.jsonl', [{ source_text: '猫がいる', translated_text: '有猫' }]);
    const args = [
      'provider=fixture',
      'fixture_path=cat.jsonl',
      `task_id=${task_id}`,
      'concurrency=2',
      'max_cost=1.5',
    ];
    const schedule = { group: 'i18n', action: 'worker-run', id: 'nightly', delay_seconds: 86_400 };
    expect((await system.act('schedule-add', { ...schedule, args: ['speed=9'] })).status).toBe(400);
    expect((await system.act('schedule-add', { ...schedule, args })).status).toBe(202);
    const { body } = await system.act('schedule-run', { id: 'nightly' });
    const [run = ''] = (body['result'] as { task_ids: string[] }).task_ids;
    expect(await system.ended(run)).toMatchObject({
      status: 'succeeded',
      result: { units: { translated: 1 } },
    });
  });

  it('says that it ignores a file which its provider does not read', async () => {
    const system = started();
    const task_id = await taskOf('scheduled.json');
    const call = { provider: 'memory-only', fixture_path: 'all.jsonl', task_id, args: ['dry_run=true'] };
    const { status, body } = await system.act('translation-worker-run', call);
    expect([status, body['ignored_fields']]).toEqual([202, ['fixture_path']]);
  });

  it('is refused with each of its errors, before a task is queued', async () => {
    const system = started();
    await writeFile(join(system.system.directory, 'outside.jsonl'), '');
    const fixture = { provider: 'fixture', fixture_path: 'all.jsonl' };
    const cases: readonly (readonly [object, number, string])[] = [
      [{}, 422, 'provider_not_configured'],
      [{ provider: 'nobody' }, 422, 'provider_not_configured'],
      [{ provider: 'fixture' }, 400, 'invalid_request'],
      [{ provider: 'fixture', fixture_path: 'none.jsonl' }, 404, 'file_not_found'],
      [{ provider: 'fixture', fixture_path: '../outside.jsonl' }, 400, 'invalid_request'],
      [{ provider: 'fixture', fixture_path: '.' }, 400, 'invalid_request'],
      [{ ...fixture, task_id: 'tt_unknown' }, 404, 'unknown_translation_task'],
      [{ ...fixture, translation_memory_path: 'none.db' }, 404, 'file_not_found'],
      [{ ...fixture, glossary_path: 'none.db' }, 404, 'file_not_found'],
      [{ ...fixture, concurrency: 257 }, 400, 'invalid_request'],
      [{ ...fixture, args: ['speed=9'] }, 400, 'invalid_request'],
      [{ ...fixture, args: ['max_cost=0'] }, 400, 'invalid_request'],
      [{ ...fixture, args: ['try_text=a', 'dry_run=true'] }, 400, 'invalid_request'],
      [
        { ...fixture, args: ['try_text=a', 'suggest=open'], task_id: await taskOf('scheduled.json') },
        400,
        'invalid_request',
      ],
      [{ ...fixture, args: ['suggest=open'] }, 400, 'invalid_request'],
      [{ provider: 'free', args: ['max_cost=1'] }, 400, 'invalid_request'],
    ];
    for (const [body, status, code] of cases) {
      const answer = await system.act('translation-worker-run', body);
      expect([body, answer.status, answer.body['code']]).toEqual([body, status, code]);
    }
  });

  it('is described by the doctor, with its providers', async () => {
    const { checks } = (await started().report('daemon.doctor')) as {
      checks: { id: string; status: string; message: string }[];
    };
    expect(checks.find(({ id }) => id === 'translation.providers')).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('loop (libretranslate)') as unknown,
    });
  });
});
