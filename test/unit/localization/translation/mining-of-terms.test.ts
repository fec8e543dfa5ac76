import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callOf } from '../../../../src/engine/tasks/job.ts';
import type { Task } from '../../../../src/engine/tasks/task.ts';
import type { UnitsAfter } from '../../../../src/localization/parse/index/read/units-after.ts';
import { termMining } from '../../../../src/localization/translation/terms/mine-release.ts';
import { TERM_MINE_JOB } from '../../../../src/localization/translation/terms/term-job.ts';
import { createProviderAccess } from '../../../../src/localization/translation/worker/provider-access.ts';
import { workerConfiguration } from '../../../../src/localization/translation/worker/worker-config.ts';
import { createSecretMask } from '../../../../src/platform/logging/secret-mask.ts';
import { createTestGlossary } from '../../../support/glossary.ts';
import { TEST_PAIR } from '../../../support/glossary-terms.ts';
import { indexRelease } from '../../../support/index-release.ts';
import { openIndexInTest } from '../../../support/open-index.ts';
import { completion, sendJson, startProviderServer, type Reply } from '../../../support/provider-harness.ts';
import { askReport } from '../../../support/reports.ts';
import { runToEnd } from '../../../support/task-engine.ts';

/** Lines that begin with 「 are those of アロナ. */
const TEXTS =
  '「アビドスへようこそ。|「アビドスの砂漠です。|「砂漠の先にゲヘナがあります。|アビドス|砂漠|ゲヘナ|今日はいい天気|今日もいい天気|今日こそ天気'.split(
    '|',
  );

/** Sorts words as a model would. */
const sorting =
  (classes: Readonly<Record<string, string>>): Reply =>
  (call, response) => {
    const { words } = JSON.parse(call.body.messages[1].content) as { words: { id: string; text: string }[] };
    const rows = words.map(({ id, text }) => ({ id, s: text.slice(0, 12), class: classes[text] }));
    sendJson(response, completion({ rows }));
  };

async function openWorld(
  reply: Reply = sorting({}),
  afterPage: (page: UnitsAfter) => UnitsAfter = (page) => page,
) {
  const world = await createTestGlossary();
  const { url, calls } = await startProviderServer(reply);
  const index = openIndexInTest();
  const configuration = z.object(workerConfiguration).parse({
    providers: {
      mine: {
        kind: 'openai',
        url,
        model: 'm',
        allowHosts: ['127.0.0.1'],
        limits: { batchUnits: 2, attempts: 1, longestWaitSeconds: 0 },
      },
      vendor: { kind: 'openai', preset: 'ollama', model: 'm', allowHosts: ['127.0.0.1'] },
    },
  });
  const providers = createProviderAccess({
    configuration: () => configuration,
    dataDirectory: world.directory,
    clock: world.clock,
    random: () => 0,
    secrets: createSecretMask(),
  });
  const parse = {
    unitsAfter: (query: Parameters<typeof index.unitsAfter>[0]) =>
      Promise.resolve(afterPage(index.unitsAfter({ ...query, limit: 4 }))),
    containersAfter: () => Promise.reject(new Error('is not read')),
  };
  world.engine.jobs.register(
    termMining({ parse, terms: world.glossary.drafts, providers, languages: () => TEST_PAIR }),
  );
  const release = (texts: readonly string[]): void => {
    const units = texts.map((text, at) => [`k${at}`, text] as const);
    indexRelease(index, 'r1', [{ destination: 'a.json', leaves: [{ units }] }]);
  };
  return {
    ...world,
    calls,
    release,
    mine: async (args: object = {}): Promise<Task> =>
      await runToEnd(world.engine, callOf(TERM_MINE_JOB, { min_count: 2, ...args })),
    terms: async () => {
      const query = { limit: 1000 };
      const { items } = await askReport(world.glossary.reports, 'translation.glossary.query', query);
      return items
        .map(({ source_term: form, category, review_status: status, source }) => ({
          form,
          category,
          status,
          note: source.source_note,
        }))
        .toSorted((one, other) => (one.form < other.form ? -1 : 1));
    },
  };
}

describe('the job term-mine', () => {
  it('adds recurring names and words as drafts with counts and contexts, once', async () => {
    const world = await openWorld();
    world.release(TEXTS);
    await world.add({ source_term: '先生', aliases: ['今日'] });
    const { result } = await world.mine();
    expect(result).toMatchObject({
      release_id: 'r1',
      texts: 9,
      known: 1,
      candidates: 5,
      added: 5,
      ordinary: 0,
      refused: 0,
    });
    expect(result).not.toHaveProperty('usage');
    const draft = { category: '', status: 'draft' };
    expect(await world.terms()).toMatchObject([
      {
        ...draft,
        form: 'アビドス',
        note: 'in 3 texts\n「アビドスへようこそ。\n「アビドスの砂漠です。\nアビドス',
      },
      {
        ...draft,
        form: 'アロナ',
        category: 'name',
        note: expect.stringMatching(/^speaks 3 lines\n「/) as string,
      },
      { ...draft, form: 'ゲヘナ' },
      { form: '先生' },
      { ...draft, form: '天気' },
      { ...draft, form: '砂漠' },
    ]);
    expect((await world.mine()).result).toMatchObject({ known: 6, candidates: 0, added: 0 });
  });

  it('leaves rejected terms alone, and takes the likeliest first', async () => {
    const world = await openWorld();
    world.release(TEXTS);
    expect((await world.mine({ limit: 1 })).result).toMatchObject({ added: 1, candidates: 6 });
    expect(await world.terms()).toMatchObject([{ form: 'アロナ' }]);
    await world.act('update', { term_id: 'gt_new1', review_status: 'rejected', reviewer: 'r', reason: 'no' });
    const { result } = await world.mine({ limit: 1 });
    expect(result).toMatchObject({ known: 1, added: 1 });
    expect(await world.terms()).toMatchObject([{ form: 'アビドス' }, { form: 'アロナ', status: 'rejected' }]);
  });

  it('lets a model sort the terms in bounded requests, and leaves ordinary words out', async () => {
    const world = await openWorld(
      sorting({
        アビドス: 'place',
        アロナ: 'name',
        ゲヘナ: 'place',
        今日: 'word',
        天気: 'word',
        砂漠: 'other',
      }),
    );
    world.release(TEXTS);
    const trial = await world.mine({ provider: 'mine', dry_run: true });
    expect(trial.result).toMatchObject({ dry_run: true, added: 0, usage: { requests: 3 } });
    expect(world.calls).toHaveLength(0);
    const { result } = await world.mine({ provider: 'mine' });
    // A class that the model made up is asked for again, and then left to people.
    expect(result).toMatchObject({ added: 4, ordinary: 2, failures: { answer_malformed: 1 } });
    expect((await world.terms()).map(({ form, category }) => [form, category])).toEqual([
      ['アビドス', 'place'],
      ['アロナ', 'name'],
      ['ゲヘナ', 'place'],
      ['砂漠', ''],
    ]);
    const [first] = world.calls;
    expect(JSON.parse(first?.body.messages[1].content ?? '')).toMatchObject({
      words: [
        { text: 'アロナ' },
        { text: 'アビドス', texts: ['「アビドスへようこそ。', '「アビドスの砂漠です。', 'アビドス'] },
      ],
    });
    expect(first?.body.messages[0].content).toContain('a game in Japanese');
  });

  it('adds what is sorted when the provider is out, and leaves the rest to the next run', async () => {
    const sort = sorting({ アビドス: 'place', アロナ: 'name' });
    const world = await openWorld((call, response, ...rest) => {
      if (world.calls.length === 1) return sort(call, response, ...rest);
      return sendJson(response, { error: { message: 'out of credit', code: 'insufficient_quota' } }, 402);
    });
    world.release(TEXTS);
    const { status, result } = await world.mine({ provider: 'mine' });
    expect(status).toBe('succeeded');
    expect(result).toMatchObject({
      added: 2,
      ordinary: 0,
      failures: { provider_account: 4 },
      usage: { requests: 2 },
    });
    expect(world.calls).toHaveLength(2);
  });

  it.each([
    [{ provider: 'other' }, 'provider_not_configured', 'no provider has the name "other"'],
    [{ provider: 'memory-only' }, 'provider_not_configured', 'cannot sort terms'],
    [{ provider: 'fixture' }, 'provider_not_configured', 'cannot sort terms'],
    [{ provider: 'vendor', max_cost: 1 }, 'invalid_request', 'needs translation.providers.vendor.prices'],
  ])('with %j fails with %s before it reads the texts', async (args, code, message) => {
    const world = await openWorld();
    const task = await world.mine(args);
    expect(task).toMatchObject({ status: 'failed', failure_code: code });
    expect(task.failure_reason).toContain(message);
  });

  it('says what to do without a release, and begins again when the index moves on', async () => {
    const empty = await (await openWorld()).mine();
    expect(empty).toMatchObject({ status: 'failed', failure_code: 'text_not_indexed' });
    let pages = 0;
    const world = await openWorld(sorting({}), (page) => ({
      ...page,
      generation: (pages += 1) === 2 ? 99 : 1,
    }));
    world.release(TEXTS);
    const { result } = await world.mine();
    expect(result).toMatchObject({ texts: 9, added: 6 });
  });
});
