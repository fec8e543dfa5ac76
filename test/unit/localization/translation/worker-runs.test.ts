import { describe, expect, it } from 'vitest';
import { unixSeconds } from '../../../../src/platform/process/clock.ts';
import { TaskError } from '../../../../src/engine/tasks/task.ts';
import { NO_USAGE } from '../../../../src/localization/translation/providers/spending.ts';
import { createChunkOrder } from '../../../../src/localization/translation/worker/chunk-claims.ts';
import type { TranslationMemory } from '../../../../src/localization/memory/translation-memory.ts';
import type { TranslationProvider } from '../../../../src/localization/translation/providers/provider.ts';
import type { RunSettings } from '../../../../src/localization/translation/worker/run-world.ts';
import { createRunTally } from '../../../../src/localization/translation/worker/run-tally.ts';
import { rowsOf, type TestWork } from '../../../support/translation-work.ts';
import { partial } from '../../../support/partial.ts';
import { openWorkerWorld, type Script } from '../../../support/worker-world.ts';
import { suggestedUnits } from '../../../../src/localization/translation/worker/suggested-units.ts';
import { unitIdText } from '../../../../src/localization/unit-id-text.ts';

const texts = (count: number, prefix = 'text'): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix} ${at}`);

const targets = ({ database }: TestWork): Record<string, unknown>[] =>
  rowsOf(
    database,
    'SELECT target_text, state, author_kind, token_id, provider_run_id FROM target ORDER BY source_text',
  );

const chunks = ({ database }: TestWork): Record<string, unknown>[] =>
  rowsOf(database, 'SELECT state, attempt, lease_token, failure_reason FROM chunk ORDER BY task_seq, number');

/** Does the work of the job `propagate` that waits. */
const propagateOnce = (work: TestWork): void => {
  const { builtFor, items, done } = work.at(1).repetitionPage(null);
  const judged = items.map((item) => ({
    ...item,
    sourceText: 'same',
    findings: [],
    qaIdentity: 'gqa1_x',
    judgedBy: { key: 'rules', generation: 7 },
  }));
  work.storeRepetitions({ builtFor, items: judged, done });
};

describe('a run that only suggests', () => {
  it('gives targets with their findings and reasons, of any unit that is named, and stores nothing', async () => {
    const world = openWorkerWorld({ 'a.json': ['先生', '走る', '先生', '歩く'] });
    const task_id = String(rowsOf(world.work.database, 'SELECT task_id FROM task')[0]?.['task_id']);
    const settings = { taskId: task_id };
    const [first, repeated, last] = rowsOf(
      world.work.database,
      'SELECT unit_id FROM task_unit WHERE number <> 1 ORDER BY number',
    ).map((row) => row['unit_id'] as Uint8Array);
    if (first === undefined || repeated === undefined || last === undefined) throw new Error('no units');
    const script: Script = ({ sourceText }) =>
      sourceText === '先生' ? 'BAD 老师' : { code: 'answer_malformed' };
    const result = await world.run({ settings, script, suggest: [first, repeated, last] });
    expect(result).not.toHaveProperty('dry_run');
    expect(result).toMatchObject({
      provider: 'scripted',
      only_suggests: true,
      suggestions: [
        {
          unit_id: unitIdText(first),
          source_text: '先生',
          source_digest: expect.stringMatching(/^[0-9a-f]+$/),
          target_text: 'BAD 老师',
          model: 'model-1',
          findings: [{ severity: 'error', message: 'it is bad' }],
          terms: [{ source: '先生', target: '老师' }],
        },
        {
          unit_id: unitIdText(repeated),
          target_text: 'BAD 老师',
          terms: [{ source: '先生', target: '老师' }],
        },
      ],
      failed_units: [{ unit_id: unitIdText(last), code: 'answer_malformed' }],
    });
    expect([targets(world.work), world.offered]).toEqual([[], []]);
    expect(chunks(world.work)).toMatchObject([{ state: 'idle', attempt: 0, lease_token: null }]);
    // Without names: the units that need a target, until every one has one.
    const open = await world.run({ settings, suggest: [] });
    expect(open).toMatchObject({ suggestions: { length: 4 } });
    await world.run();
    expect(await world.run({ settings, suggest: [] })).toMatchObject({ suggestions: [] });
    const again = await world.run({ settings, suggest: [first] });
    expect(again).toMatchObject({ suggestions: [{ target_text: 'T 先生' }] });
    const refused = world.run({ settings, suggest: [last], script: () => ({ code: 'provider_rejected' }) });
    await expect(refused).rejects.toMatchObject({ code: 'provider_rejected' });
  });

  it('reads open units of all chunks, those that no run takes any more too, and asks the fallback again', async () => {
    const world = openWorkerWorld({ 'a.json': texts(430) });
    const task = rowsOf(world.work.database, 'SELECT task_id FROM task')[0];
    const settings = { taskId: String(task?.['task_id']) };
    await world.run({ settings, script: ({ place }) => (place % 10 === 9 ? { code: 'answer_cut' } : 'T') });
    world.work.database.prepare(`UPDATE chunk SET state = 'failed', attempt = 9`).run();
    let begun = 0;
    const fallback = partial<TranslationProvider>({ beginRun: () => (begun += 1) });
    const { suggestions } = (await world.run({ settings, suggest: [], provider: { fallback } })) as {
      readonly suggestions: readonly { readonly target_text: string }[];
    };
    expect(suggestions).toHaveLength(43);
    expect(suggestions.at(-1)).toMatchObject({ target_text: 'T text 429' });
    expect(begun).toBe(1);
  });

  it('says of each unit that it was asked for why it has no suggestion', async () => {
    const world = openWorkerWorld({ 'a.json': texts(3) });
    const [row] = rowsOf(world.work.database, 'SELECT task_id FROM task');
    const settings = { taskId: String(row?.['task_id']) };
    const [first, second, third] = rowsOf(
      world.work.database,
      'SELECT unit_id FROM task_unit ORDER BY number',
    ).map(({ unit_id: id }) => id as Uint8Array);
    if (first === undefined || second === undefined || third === undefined) throw new Error('no units');
    const other = new Uint8Array(16);
    const script: Script = () => 'x'.repeat(150_000);
    const long = await world.run({ settings, script, suggest: [first, second, third, other] });
    expect(long).toMatchObject({
      suggestions: [{ unit_id: unitIdText(first) }],
      failed_units: [
        { unit_id: unitIdText(other), code: 'unknown_unit' },
        { unit_id: unitIdText(second), code: 'answer_too_large' },
        { unit_id: unitIdText(third), code: 'answer_too_large' },
      ],
    });
    const nothing = world.run({ settings, suggest: [other] });
    await expect(nothing).rejects.toMatchObject({ code: 'unknown_unit' });
    world.work.database.prepare(`UPDATE task SET stored_status = 'superseded'`).run();
    const late = world.run({ settings, suggest: [first] });
    await expect(late).rejects.toMatchObject({ code: 'unknown_translation_task' });
  });

  it('is asked with ids of units, or with "open"', () => {
    const id = unitIdText(new Uint8Array(16));
    expect(suggestedUnits('open')).toEqual([]);
    expect(suggestedUnits(`${id},${id}`)).toHaveLength(2);
    for (const wrong of ['', 'tu1_x', `${id},`, Array.from({ length: 51 }, () => id).join(',')])
      expect(suggestedUnits(wrong)).toBe(null);
  });
});

describe('a run of workers', () => {
  it('stores drafts with their provenance, offers them to the memory, and asks for 20 units at a time', async () => {
    const world = openWorkerWorld({ 'a.json': texts(45) });
    const result = await world.run();
    expect(result).toMatchObject({
      provider: 'scripted',
      model: 'model-1',
      worker_id: 'w1',
      stopped: null,
      units: { translated: 45, left: 0 },
      chunks: { done: 1 },
      usage: { requests: 3, prompt_tokens: 45 },
      tasks: 1,
      per_task: [{ units: 45, usage: { requests: 3 } }],
    });
    expect(world.requests.map(({ units }) => units.length)).toEqual([20, 20, 5]);
    expect(world.offered).toHaveLength(45);
    expect(
      rowsOf(
        world.work.database,
        'SELECT DISTINCT model, prompt_digest, glossary_generation, author_kind, state FROM target_history',
      ),
    ).toEqual([
      {
        model: 'model-1',
        prompt_digest: 'digest-1',
        glossary_generation: 7,
        author_kind: 'machine',
        state: 'draft',
      },
    ]);
    expect(chunks(world.work)).toEqual([
      { state: 'succeeded', attempt: 0, lease_token: null, failure_reason: null },
    ]);
  });

  it('does not record the generation of a Glossary that is not the main one', async () => {
    const world = openWorkerWorld({ 'a.json': texts(1) });
    await world.run({ settings: { glossaryPath: 'other.db' } });
    expect(rowsOf(world.work.database, 'SELECT glossary_generation FROM target_history')).toEqual([
      { glossary_generation: null },
    ]);
  });

  it('counts the equal units of other chunks and tasks, which get their target without it, and ends its progress', async () => {
    // Units are equal when their place in the file and their text are.
    const first = ['known', ...texts(300)];
    const world = openWorkerWorld(
      { 'a.json': first, 'b.json': ['known', 'x'], 'c.json': ['known', 'known'] },
      { known: 'K' },
    );
    const memoryOnly = { kind: 'memory-only' as const, stepSize: { units: 1000, characters: 1e6 } };
    const seen: unknown[][] = [];
    const result = await world.run({
      script: () => ({ code: 'memory_only' }),
      provider: memoryOnly,
      progress: (...progress) => seen.push(progress),
    });
    expect(result).toMatchObject({ units: { reused: 2, propagated: 2, left: 301 } });
    expect(seen.at(-1)).toEqual([305, 305, 'units', 'translating']);
  });

  it('does not count equal units of tasks beyond its own', async () => {
    const world = openWorkerWorld(
      { 'a.json': ['known', 'open'], 'b.json': ['known'], 'c.json': ['known'] },
      { known: 'K' },
    );
    const result = await world.run({
      script: () => ({ code: 'memory_only' }),
      settings: { maxTasks: 1 },
    });
    expect(result).toMatchObject({ units: { reused: 1, propagated: 0, left: 1 } });
  });

  it.each([
    ['waits', { translated: 4, propagated: 2 }],
    ['works meanwhile', { translated: 3, propagated: 3 }],
  ])('counts each unit of a text in concurrent chunks once when `propagate` %s', async (when, units) => {
    const begun = Promise.withResolvers<undefined>();
    const stored = Promise.withResolvers<undefined>();
    const offer = (): Promise<boolean> => {
      stored.resolve(undefined);
      return Promise.resolve(true);
    };
    const files = { a: ['same', 'x'], b: ['same', 'y'], c: ['same', 'z'], d: ['same'] };
    const world = openWorkerWorld(files, {}, { offers: { offer, withdraw: offer } });
    const result = await world.run({
      settings: { concurrency: 2 },
      script: async ({ sourceText }) => {
        if (sourceText === 'x') await begun.promise;
        if (sourceText === 'y') {
          begun.resolve(undefined);
          await stored.promise;
          if (when !== 'waits') propagateOnce(world.work);
        }
        return sourceText === 'z' ? { code: 'memory_only' } : `T ${sourceText}`;
      },
    });
    // 7 units together.
    expect(result).toMatchObject({ units: { ...units, skipped: 0, left: 1 } });
  });

  it('takes a known translation without a call, unless it is blocked for this text', async () => {
    const known = { 'text 0': 'known', 'text 1': 'BAD' };
    const world = openWorkerWorld({ 'a.json': texts(3) }, known);
    expect(await world.run()).toMatchObject({ units: { reused: 1, translated: 2, blocked: 0 } });
    expect(world.requests.flatMap(({ units }) => units.map(({ sourceText }) => sourceText))).toEqual([
      'text 1',
      'text 2',
    ]);
    expect(targets(world.work)[0]).toEqual({
      target_text: 'known',
      state: 'draft',
      author_kind: 'memory',
      token_id: 'ann',
      provider_run_id: null,
    });
    expect(world.used).toEqual(['tm_text 0']);
    expect(world.offered).toEqual(['T text 1', 'T text 2']);
  });

  it('continues without a memory that cannot be used', async () => {
    const failing = () => Promise.reject(new Error('no such file'));
    const memory = partial<TranslationMemory>({ lookUp: failing, soleTokens: failing, countUse: failing });
    const world = openWorkerWorld({ 'a.json': texts(2) }, {}, { memory });
    expect(await world.run()).toMatchObject({ units: { translated: 2 } });
  });

  it('translates repetitions once', async () => {
    const world = openWorkerWorld({ 'a.json': ['same', 'other', 'same', 'same'] });
    // The class of a field keeps the rows of a table together; these fields differ, so they are made one.
    world.work.database.prepare(`UPDATE task_unit SET repetition = x'01' WHERE ordinal IN (0, 2, 3)`).run();
    expect(await world.run()).toMatchObject({ units: { translated: 2, propagated: 2 } });
    expect(world.requests[0]?.units.map(({ sourceText }) => sourceText)).toEqual(['same', 'other']);
    const copies = rowsOf(world.work.database, 'SELECT 1 FROM target WHERE propagated_from IS NOT NULL');
    expect(copies).toHaveLength(2);
  });

  it('gives the provider terms, neighbours, and the characters of the scene', async () => {
    const world = openWorkerWorld({ 'a.json': ['「先生」', 'お茶', 'はい'] });
    const arona = {
      name: 'アロナ',
      gender: 'f',
      tone: 'bright',
      firstPerson: '私',
      addressForms: '先生',
      relations: '',
    };
    await world.run({ characters: new Map([['アロナ', arona]]) });
    const [request] = world.requests;
    expect(request).toMatchObject({ characters: [arona], about: ['The first file.'] });
    expect(request?.units[0]).toMatchObject({
      speaker: 'アロナ',
      place: 0,
      around: [
        { place: 1, speaker: null, text: 'お茶', target: null },
        { place: 2, speaker: null, text: 'はい', target: null },
      ],
      constraints: [{ source: '先生', recommended: '老师', allowed: ['sensei'], forbidden: [] }],
    });
  });

  it('shows the first prompt in the estimate of a task, and in no other estimate', async () => {
    const world = openWorkerWorld({ 'a.json': ['one', 'two'], 'b.json': ['three'] });
    const estimate = async (taskId: string | null) => await world.estimate({ taskId });
    const { items } = world.work.tasks({ offset: 0, limit: 10 });
    const taskId = items.find(({ destination }) => destination === 'b.json')?.task_id ?? null;
    expect(await estimate(taskId)).toMatchObject({
      units: { translated: 1 },
      prompt: { system: 'Translate.', user: 'three' },
    });
    expect(await estimate(null)).not.toHaveProperty('prompt');
    expect(world.requests).toEqual([]);
  });

  it('shows the provider what a person translated around a unit, and nothing that a machine did', async () => {
    const world = openWorkerWorld({ 'a.json': ['one', 'two', 'three'] });
    await world.run({
      script: ({ sourceText }) => (sourceText === 'two' ? { code: 'answer_refused' } : 'T'),
    });
    world.work.database
      .prepare(
        "UPDATE target SET author_kind = 'person', state = 'translated', target_text = ? WHERE source_text = 'three'",
      )
      .run('by a person');
    await world.run({ settings: { force: true } });
    expect(world.requests.at(-1)?.units).toMatchObject([
      {
        sourceText: 'two',
        around: [
          { text: 'one', target: null },
          { text: 'three', target: 'by a person' },
        ],
      },
    ]);
  });

  it('gives the provider the length of the field, and only what people confirmed as examples', async () => {
    const asked: string[] = [];
    const memory = partial<TranslationMemory>({
      lookUp: (lookups) => {
        asked.push(...lookups.map(({ depth }) => depth));
        return Promise.resolve(lookups.map(() => ({ decision: 'none', matches: [] })) as never);
      },
      soleTokens: () => Promise.resolve([]),
    });
    const world = openWorkerWorld({ 'limited.json': ['はい'], 'z.json': ['いいえ'] }, {}, { memory });
    await world.run();
    expect(world.requests.flatMap(({ units }) => units.map(({ maxLength }) => maxLength))).toEqual([9, null]);
    expect(new Set(asked)).toEqual(new Set(['trusted', 'trusted_similar']));
  });

  it('asks once more about findings, and keeps the translation with fewer of them', async () => {
    const world = openWorkerWorld({ 'a.json': ['good', 'mended', 'spoilt', 'kept'] });
    const answers: Readonly<Record<string, readonly string[]>> = {
      good: ['fine'],
      mended: ['BAD', 'better'],
      spoilt: ['BAD first', 'BAD WORSE second'],
      kept: ['WORSE', 'BAD'],
    };
    const result = await world.run({
      script: ({ sourceText, findings }) => answers[sourceText]?.[findings.length === 0 ? 0 : 1] ?? '',
    });
    expect(result).toMatchObject({
      units: { translated: 1, repaired: 1, blocked: 2 },
      usage: { requests: 2 },
    });
    expect(world.requests[1]?.units.map(({ sourceText, findings }) => [sourceText, findings])).toEqual([
      ['mended', ['it is bad']],
      ['spoilt', ['it is bad']],
      ['kept', ['it is bad', 'it is worse']],
    ]);
    expect(targets(world.work).map(({ target_text: text, state }) => [text, state])).toEqual([
      ['fine', 'draft'],
      ['BAD', 'blocked'],
      ['better', 'draft'],
      ['BAD first', 'blocked'],
    ]);
    expect(world.offered).toEqual(['fine', 'better']);
  });

  it('asks the fallback while the provider is out, and names it as the author', async () => {
    const world = openWorkerWorld({ 'a.json': texts(3) });
    const second: TranslationProvider = {
      name: 'second',
      kind: 'libretranslate',
      model: 'model-2',
      promptDigest: null,
      promptOf: () => null,
      stepSize: { units: 20, characters: 4000 },
      requestsPerUnit: 3,
      fallback: null,
      evaluator: null,
      beginRun: () => undefined,
      estimate: () => NO_USAGE,
      translateBatch: ({ units }) =>
        Promise.resolve({
          results: units.map(({ unitId, sourceText }) => ({
            unitId,
            translatedText: `S ${sourceText}`,
            providerRunId: null,
          })),
          failures: [],
          usage: { ...NO_USAGE, requests: 1 },
        }),
    };
    const result = await world.run({
      provider: { fallback: second },
      script: ({ sourceText }) =>
        sourceText === 'text 0'
          ? 'T text 0'
          : { code: sourceText === 'text 1' ? 'provider_error' : 'provider_account' },
    });
    expect(result).toMatchObject({ outcome: 'succeeded', units: { translated: 3 }, usage: { requests: 2 } });
    expect(world.requests).toMatchObject([{ hasFallback: true }]);
    expect(
      rowsOf(
        world.work.database,
        'SELECT target_text, provider, model FROM target_history ORDER BY source_text',
      ),
    ).toEqual([
      { target_text: 'T text 0', provider: 'scripted', model: 'model-1' },
      { target_text: 'S text 1', provider: 'second', model: 'model-2' },
      { target_text: 'S text 2', provider: 'second', model: 'model-2' },
    ]);
  });

  it('gives a fallback that reads prompts what it reads, although the first provider does not', async () => {
    const world = openWorkerWorld({ 'a.json': ['「先生」'] });
    const seen: unknown[] = [];
    const second = partial<TranslationProvider>({
      name: 'second',
      model: 'model-2',
      promptDigest: 'digest-2',
      fallback: null,
      beginRun: () => undefined,
      translateBatch: ({ units }) => {
        seen.push(...units.flatMap(({ constraints }) => constraints.map(({ source }) => source)));
        return Promise.resolve({
          results: units.map(({ unitId }) => ({ unitId, translatedText: '老师', providerRunId: null })),
          failures: [],
          usage: NO_USAGE,
        });
      },
    });
    await world.run({
      provider: { promptDigest: null, fallback: second },
      script: () => ({ code: 'provider_unreachable' }),
    });
    expect(seen).toEqual(['先生']);
  });

  it('blocks one answer for everything, after it has asked for another one', async () => {
    const sources = [
      '今日はいい天気ですね',
      '明日は学校に行きます',
      '昨日の宿題が終わらない',
      '剣を持って戦いましょう',
    ];
    const world = openWorkerWorld({ 'a.json': sources });
    expect(await world.run({ script: () => '你好' })).toMatchObject({ units: { blocked: 4, translated: 0 } });
    expect(world.requests.map(({ units }) => units.map(({ findings }) => findings))).toEqual([
      [[], [], [], []],
      sources.map(() => ['"你好" is the translation of 4 different texts']),
    ]);
    expect(world.offered).toEqual([]);
  });

  it('keeps the good units of a chunk whose others fail, and fails them after the last attempt', async () => {
    const world = openWorkerWorld({ 'a.json': texts(3) });
    const result = await world.run({
      script: ({ sourceText }) => (sourceText === 'text 1' ? { code: 'answer_refused' } : `T ${sourceText}`),
    });
    expect(result).toMatchObject({
      units: { translated: 2, failed: 1, left: 0 },
      failures: { answer_refused: 3 },
      chunks: { retried: 2, failed: 1 },
    });
    expect(chunks(world.work)).toMatchObject([
      { state: 'failed', attempt: 3, failure_reason: 'answer_refused: 1 unit; failed as answer_refused' },
    ]);
    expect(await world.run()).toMatchObject({ units: { translated: 0 } });
    expect(await world.run({ settings: { force: true } })).toMatchObject({ units: { translated: 1 } });
  });

  it('waits before it retries a provider in trouble, as long as that asks for', async () => {
    const world = openWorkerWorld({ 'a.json': texts(1) });
    const begin = world.clock.now();
    const seen: number[] = [];
    const run = world.run({
      settings: { retryBackoffSeconds: 10 },
      script: ({ sourceText }) => {
        seen.push((world.clock.now() - begin) / 1000);
        if (seen.length === 1) return { code: 'provider_error' };
        return seen.length === 2 ? { code: 'provider_throttled', retryAfterMs: 90_000 } : `T ${sourceText}`;
      },
    });
    await world.clock.advance(120_000);
    expect(await run).toMatchObject({ units: { translated: 1 }, chunks: { retried: 2, done: 1 } });
    expect(seen).toEqual([0, 5, 95]);
  });

  it('leaves a chunk whose retry is far away to the next run, which may begin at once', async () => {
    const world = openWorkerWorld({ 'a.json': texts(1) });
    const script = () => ({ code: 'provider_throttled', retryAfterMs: 3_000_000 }) as const;
    await expect(world.run({ script })).rejects.toMatchObject({
      code: 'provider_throttled',
      details: { outcome: 'failed', units: { left: 1 }, chunks: { retried: 1 } },
    });
    expect(chunks(world.work)).toMatchObject([
      {
        state: 'retry_wait',
        attempt: 0,
        failure_reason: 'provider_throttled: 1 unit; failed as provider_throttled',
      },
    ]);
    expect(await world.run()).toMatchObject({ outcome: 'succeeded', units: { translated: 1 } });
  });

  it('is partly done while a chunk waits for its next attempt, and so is the next run', async () => {
    const world = openWorkerWorld({ 'a.json': texts(3) });
    const script = ({ sourceText }: { readonly sourceText: string }) =>
      sourceText === 'text 1' ? ({ code: 'answer_malformed' } as const) : `T ${sourceText}`;
    const settings = { retryBackoffSeconds: 1800 };
    expect(await world.run({ script, settings })).toMatchObject({
      outcome: 'partly',
      reasons: [{ code: 'answer_malformed', units: 1, message: 'failed as answer_malformed' }],
      chunks: { retried: 1 },
      units: { translated: 2, left: 1 },
    });
    expect(await world.run({ settings })).toMatchObject({
      outcome: 'partly',
      reasons: [{ code: 'delayed', units: 1 }],
      units: { left: 1 },
    });
  });

  it('expects a request for each file, and counts only failures of its own tasks', async () => {
    const world = openWorkerWorld(Object.fromEntries(texts(8, 'f').map((name) => [name, [name]])));
    const script = ({ sourceText }: { readonly sourceText: string }) =>
      sourceText === 'f 7'
        ? ({ code: 'answer_refused', isFinal: true } as const)
        : { code: 'memory_only' as const };
    await expect(world.run({ script })).rejects.toMatchObject({ code: 'answer_refused' });
    const result = await world.run({ script, settings: { maxTasks: 5 } });
    expect(result).toMatchObject({ outcome: 'succeeded', reasons: [], expected: { units: 5, requests: 5 } });
  });

  it('goes on with everything after an outage, and says what it has got of each run', async () => {
    const world = openWorkerWorld({ 'a.json': texts(250), 'b.json': texts(10, 'other') });
    const outage = world.run({
      script: ({ sourceText }, call) =>
        call <= 2 ? `T ${sourceText}` : { code: 'provider_unreachable', message: 'connection refused' },
    });
    await expect(outage).rejects.toMatchObject({
      code: 'provider_unreachable',
      message: 'connection refused',
      details: {
        outcome: 'partly',
        reasons: [{ code: 'provider_unreachable', units: 220, message: 'connection refused' }],
        units: { translated: 40, failed: 0, left: 220 },
        usage: { requests: 5 },
      },
    });
    expect(chunks(world.work).map(({ attempt }) => attempt)).toEqual([0, 0, 0]);
    expect(await world.run()).toMatchObject({
      outcome: 'succeeded',
      units: { translated: 220, left: 0 },
      reasons: [],
    });
  });

  it('is partly done when lines fail, names them, and reminds of them later', async () => {
    const world = openWorkerWorld({ 'a.json': texts(3) });
    const script = ({ sourceText }: { readonly sourceText: string }) =>
      sourceText === 'text 1' ? ({ code: 'answer_refused', isFinal: true } as const) : `T ${sourceText}`;
    const log: string[] = [];
    const result = await world.run({ script, log: (_level, message) => log.push(message) });
    expect(result).toMatchObject({
      outcome: 'partly',
      reasons: [{ code: 'answer_refused', units: 1, message: 'failed as answer_refused' }],
      failed_units: [{ code: 'answer_refused', message: 'failed as answer_refused' }],
      units: { translated: 2, failed: 1 },
      // Another try would end the same way.
      chunks: { failed: 1 },
      usage: { requests: 1 },
      expected: { units: 3, requests: 1 },
    });
    expect(log[0]).toContain('begins with 3 open units: about 1 request, fewer');
    expect(await world.run({ script })).toMatchObject({
      outcome: 'partly',
      reasons: [{ code: 'failed_before', units: 1 }],
      usage: { requests: 0 },
    });
  });

  it('names the parts that another run works on', async () => {
    const world = openWorkerWorld({ 'a.json': texts(2), 'b.json': ['other'] });
    const request = { owner: 'w2', leaseSeconds: 300, maxAttempts: 3, taskId: null, after: null };
    expect(world.work.at(unixSeconds(world.clock)).claimChunk(request)?.units).toHaveLength(2);
    expect(await world.run()).toMatchObject({
      outcome: 'partly',
      units: { translated: 1, left: 2 },
      reasons: [{ code: 'leased', units: 2, message: '2 units are in parts that another run works on' }],
    });
  });

  it('gives the provider the terms of the Glossary that it follows', async () => {
    const world = openWorkerWorld({ 'a.json': texts(1), 'b.json': texts(1, 'other') });
    await world.run({ settings: { glossaryPath: 'other.db', maxTasks: 1 } });
    await world.run();
    const terms = world.requests.map(({ terms }) => terms!);
    expect(terms.map(({ path }) => path)).toEqual(['other.db', null]);
    expect(await terms[1]?.read()).toBe(await terms[1]?.read());
    expect(await terms[0]?.read()).toEqual([{ source: '先生', target: 'other.db' }]);
  });

  it('fails when it translated nothing', async () => {
    const world = openWorkerWorld({ 'a.json': texts(2) });
    const failed = world.run({
      script: () => ({ code: 'answer_refused', isFinal: true, message: 'not nice' }),
    });
    await expect(failed).rejects.toMatchObject({
      code: 'answer_refused',
      message: 'not nice',
      details: { outcome: 'failed', units: { failed: 2 } },
    });
  });

  it('stops, and counts no attempt, when the credentials are refused', async () => {
    const world = openWorkerWorld({ 'a.json': texts(450) });
    const failed = await world
      .run({ script: () => ({ code: 'provider_credentials' }) })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(TaskError);
    expect(failed).toMatchObject({
      code: 'provider_credentials',
      retryable: false,
      details: {
        stopped: 'provider_credentials',
        reasons: [{ code: 'provider_credentials', units: 450 }],
        units: { left: 450 },
        chunks: { cancelled: 1 },
      },
    });
    expect(world.requests).toHaveLength(1);
    expect(chunks(world.work)[0]).toMatchObject({ state: 'cancelled', attempt: 0 });
  });

  it('ends cleanly at a cap, with its finished units', async () => {
    const world = openWorkerWorld({ 'a.json': texts(60) });
    const result = await world.run({
      script: ({ sourceText }, call) => (call <= 2 ? `T ${sourceText}` : { code: 'cap_reached' }),
    });
    expect(result).toMatchObject({
      stopped: 'cap_reached',
      reasons: [{ code: 'cap_reached', units: 20 }],
      units: { translated: 40, left: 20 },
    });
    expect(chunks(world.work)).toMatchObject([{ state: 'idle', attempt: 0 }]);
  });

  it('gives up when chunk after chunk meets trouble of the provider', async () => {
    const world = openWorkerWorld(Object.fromEntries(texts(30, 'f').map((name) => [name, ['text']])));
    const failed = world.run({
      script: () => ({ code: 'provider_unreachable' }),
      settings: { retryBackoffSeconds: 60 },
    });
    await expect(failed).rejects.toMatchObject({
      code: 'provider_unreachable',
      details: { chunks: { retried: 3 } },
    });
  });

  it('leaves units open that the provider does not translate by its nature', async () => {
    const world = openWorkerWorld({ 'a.json': texts(2) }, { 'text 0': 'known' });
    const result = await world.run({ script: () => ({ code: 'memory_only' }) });
    expect(result).toMatchObject({ units: { reused: 1, left: 1, failed: 0 }, chunks: { left: 1 } });
    expect(chunks(world.work)).toMatchObject([{ state: 'idle', attempt: 0 }]);
  });

  it('begins at most max_tasks tasks, in their order, or only the one that is named', async () => {
    const files = Object.fromEntries(texts(5, 'f').map((name) => [name, texts(2, name)]));
    const world = openWorkerWorld(files);
    expect(await world.run({ settings: { maxTasks: 2, concurrency: 4 } })).toMatchObject({
      tasks: 2,
      units: { translated: 4, left: 0 },
    });
    const { task_id: last } =
      rowsOf(world.work.database, 'SELECT task_id FROM task ORDER BY task_seq')[4] ?? {};
    const result = await world.run({ settings: { taskId: String(last) } });
    expect(result).toMatchObject({ units: { translated: 2 }, per_task: [{ task_id: last }] });
  });

  it('keeps its leases alive while the provider takes its time', async () => {
    const world = openWorkerWorld({ 'a.json': texts(1) });
    const run = world.run({
      settings: { leaseSeconds: 30 },
      script: async ({ sourceText }) => {
        await world.clock.sleep(600_000);
        return `T ${sourceText}`;
      },
    });
    await world.clock.advance(600_000);
    expect(await run).toMatchObject({ units: { translated: 1 }, chunks: { done: 1 } });
  });

  it('writes nothing with a lease that it lost, and aborts its request', async () => {
    const world = openWorkerWorld({ 'a.json': texts(1) });
    let aborted = false;
    const run = world.run({
      settings: { leaseSeconds: 30 },
      script: async ({ sourceText }, _call, { signal }) => {
        // Another process took the lease.
        world.work.database.prepare(`UPDATE chunk SET lease_token = 'another'`).run();
        await world.clock.sleep(600_000, signal).catch(() => {
          aborted = true;
        });
        signal.throwIfAborted();
        return `T ${sourceText}`;
      },
    });
    await world.clock.advance(20_000);
    expect(await run).toMatchObject({
      outcome: 'partly',
      reasons: [{ code: 'lease_lost', units: 1 }],
      chunks: { lost: 1 },
      units: { translated: 0, left: 1 },
    });
    expect(aborted).toBe(true);
    expect(targets(world.work)).toEqual([]);
  });

  it('loses against a person who changed a unit meanwhile', async () => {
    const world = openWorkerWorld({ 'a.json': texts(2) });
    const result = await world.run({
      script: ({ sourceText }) => {
        world.work.database
          .prepare(
            `INSERT OR IGNORE INTO hold SELECT unit_id, 'zh-Hans', NULL, NULL, 1 FROM task_unit WHERE ordinal = 0`,
          )
          .run();
        return `T ${sourceText}`;
      },
    });
    expect(result).toMatchObject({ units: { translated: 1, skipped: 1 } });
    expect(chunks(world.work)).toMatchObject([{ state: 'idle', lease_token: null }]);
  });

  it('keeps finished units when it is cancelled, and releases its leases', async () => {
    const world = openWorkerWorld({ 'a.json': texts(450) });
    const cancel = new AbortController();
    const run = world.run({
      signal: cancel.signal,
      settings: { concurrency: 2 },
      script: async ({ sourceText }, call, { signal }) => {
        if (call < 5) return `T ${sourceText}`;
        cancel.abort(new Error('cancelled'));
        await world.clock.sleep(1, signal);
        return '';
      },
    });
    await expect(run).rejects.toThrow('cancelled');
    expect(targets(world.work).length).toBeGreaterThanOrEqual(60);
    expect(chunks(world.work).map(({ state, lease_token }) => [state, lease_token])).toEqual([
      ['cancelled', null],
      ['cancelled', null],
      ['idle', null],
    ]);
  });

  it('releases the leases of all its workers when one of them fails', async () => {
    const judge = { judge: () => Promise.reject(new Error('the Glossary is gone')) };
    const world = openWorkerWorld({ 'a.json': texts(450) }, {}, { judge });
    await expect(world.run({ settings: { concurrency: 3 } })).rejects.toThrow('the Glossary is gone');
    expect(chunks(world.work).filter(({ lease_token }) => lease_token !== null)).toEqual([]);
    expect(targets(world.work)).toEqual([]);
  });
});

const SETTINGS = { owner: 'w1', leaseSeconds: 60, maxAttempts: 3, taskId: null };

describe('the order of the chunks of a run', () => {
  it('begins no more tasks than the run may, and takes every chunk of those', () => {
    const order = createChunkOrder(partial<RunSettings>({ ...SETTINGS, maxTasks: 2 }));
    const requests = [
      [4, 0],
      [4, 1],
      [7, 0],
      [7, 3],
    ].map(([taskSeq = 0, number = 0]) => {
      const { after, untilTask } = order.next();
      order.passed({ taskSeq, number });
      return [after, untilTask];
    });
    expect(requests).toEqual([
      [null, null],
      [{ taskSeq: 4, number: 0 }, null],
      [{ taskSeq: 4, number: 1 }, null],
      [{ taskSeq: 7, number: 0 }, 7],
    ]);
    expect(order.next()).toEqual({ ...SETTINGS, after: { taskSeq: 7, number: 3 }, untilTask: 7 });
  });

  it('goes through more tasks than a call has room for arguments', () => {
    const tasks = 200_000;
    const order = createChunkOrder(partial<RunSettings>({ ...SETTINGS, maxTasks: tasks }));
    for (let taskSeq = 1; taskSeq <= tasks; taskSeq += 1) order.passed({ taskSeq, number: 0 });
    expect(order.next()).toMatchObject({ untilTask: tasks });
  });
});

describe('the result of a run', () => {
  it('names only tasks with settled units or requests, and at most 50 of them', () => {
    const tally = createRunTally();
    for (let task = 0; task < 300; task += 1) tally.usage(`idle ${task}`, NO_USAGE);
    tally.usage('asked', { ...NO_USAGE, requests: 1 });
    for (let task = 0; task < 60; task += 1) tally.unit(`done ${task}`, 'reused');
    const { tasks, per_task: named } = tally.report(400, 0) as {
      tasks: number;
      per_task: { task_id: string }[];
    };
    expect(tasks).toBe(361);
    expect(named).toHaveLength(50);
    expect(named.slice(0, 2)).toMatchObject([
      { task_id: 'asked', units: 0 },
      { task_id: 'done 0', units: 1 },
    ]);
  });
});
