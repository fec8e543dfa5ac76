import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startTranslationSystem, type TranslationSystem } from '../support/translation-system.ts';
import { until } from '../support/until.ts';

const TEXTS = {
  'a.json': ['おはよう', 'さようなら', 'おはよう', '{0}個'],
  'b.json': ['はい'],
};
const TRANSLATIONS: Readonly<Record<string, string>> = {
  おはよう: '早上好',
  さようなら: '再见',
  '{0}個': '{0}个',
  はい: '是',
};

const lines = (items: readonly object[]): string => items.map((item) => JSON.stringify(item)).join('\n');

const fixtureOf = (translations: Readonly<Record<string, string>>): string =>
  lines(
    Object.entries(translations).map(([source_text, translated_text]) => ({ source_text, translated_text })),
  );

interface World extends TranslationSystem {
  /** Writes a file of prepared translations. */
  readonly fixture: (name: string, text: string) => Promise<void>;
  /** Runs workers, and waits for the end. */
  readonly work: (body: object) => Promise<Record<string, unknown>>;
}

async function start(
  texts: Readonly<Record<string, readonly string[]>>,
  daemon: Readonly<Record<string, object>> = {},
): Promise<World> {
  const world = await startTranslationSystem(texts, daemon);
  const folder = join(world.system.directory, 'data', 'fixtures');
  await mkdir(folder, { recursive: true });
  const ended = async (taskId: unknown): Promise<Record<string, unknown>> => {
    let task: Record<string, unknown> = {};
    await until(async () => {
      const found = await world.report('task.status', { task_id: String(taskId) });
      task = found['task'] === undefined ? found : (found['task'] as Record<string, unknown>);
      return ['succeeded', 'failed', 'cancelled'].includes(String(task['status']));
    }, 60_000);
    return task;
  };
  return {
    ...world,
    fixture: async (name, text) => await writeFile(join(folder, name), text),
    work: async (body) => {
      const { status, body: accepted } = await world.act('translation-worker-run', body);
      expect(accepted).toMatchObject({ accepted: true });
      expect(status).toBe(202);
      return await ended(accepted['task_id']);
    },
  };
}

describe('a run of workers', () => {
  it('translates the open units of every task with prepared translations', async () => {
    const world = await start(TEXTS);
    await world.fixture('all.jsonl', fixtureOf(TRANSLATIONS));
    const run = await world.work({ provider: 'fixture', fixture_path: 'all.jsonl', concurrency: 2 });
    expect(run).toMatchObject({
      status: 'succeeded',
      result: {
        provider: 'fixture',
        stopped: null,
        units: { translated: 4, propagated: 1, blocked: 0, failed: 0, left: 0, skipped: 0 },
        chunks: { done: 2 },
        tasks: 2,
      },
      progress: { done: 5, total: 5 },
    });
    expect(await world.tasks('a.json')).toMatchObject([
      { status: 'translated', worker_status: 'succeeded', provider: 'fixture', unit_counts: { draft: 4 } },
    ]);
    expect(await world.units('a.json')).toMatchObject([
      { source_text: 'おはよう', translation: { target_text: '早上好', state: 'draft' } },
      {},
      { source_text: 'おはよう', translation: { target_text: '早上好', state: 'draft' } },
      {},
    ]);
  });
});
