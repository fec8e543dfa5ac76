import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { campaignSize, campaignTimeout } from '../support/long.ts';
import { libreTranslate, startTranslationServer } from '../support/translation-server.ts';
import { startTranslationSystem, type TranslationSystem } from '../support/translation-system.ts';
import { until } from '../support/until.ts';

const ROUNDS = campaignSize(4, 200);
const FILES = 12;
const UNITS_OF_FILE = 250;
/** Below this many open units the next release is published, so that every round has work. */
const FEW_UNITS = 1000;
const ANSWER_MS = 15;
/** Requests to the provider after which a round ends at the latest; each is for ten units. */
const MOST_REQUESTS = 40;

const textsOf = (generation: number): Record<string, string[]> =>
  Object.fromEntries(
    Array.from({ length: FILES }, (_, file) => [
      `f${String(file).padStart(2, '0')}.json`,
      Array.from({ length: UNITS_OF_FILE }, (_, at) => `第${generation}章の${file * UNITS_OF_FILE + at}行`),
    ]),
  );

/** Everything that translation.db says; the daemon does not run. */
interface Stored {
  /** Entries of the history: their unit, revision and text. */
  readonly history: ReadonlyMap<number, string>;
  readonly twice: readonly unknown[];
  readonly strayTargets: readonly unknown[];
  readonly wrongCounts: readonly unknown[];
}

function readStored(directory: string): Stored {
  const database = new DatabaseSync(join(directory, 'data', 'translation.db'), { readOnly: true });
  try {
    const all = (sql: string): Record<string, unknown>[] => database.prepare(sql).all();
    const history = all(
      'SELECT entry, hex(unit_id) AS unit, source_text, revision, target_text FROM target_history',
    );
    return {
      history: new Map(
        history.map((row) => [
          Number(row['entry']),
          `${String(row['unit'])} ${String(row['revision'])} ${String(row['target_text'])}`,
        ]),
      ),
      twice: all(
        'SELECT source_text FROM target_history GROUP BY unit_id, source_digest HAVING count(*) > 1 LIMIT 5',
      ),
      strayTargets: all(`SELECT source_text FROM target WHERE state = 'draft' AND NOT EXISTS (
        SELECT 1 FROM target_history AS newest WHERE newest.entry = target.entry AND newest.unit_id = target.unit_id
        AND newest.revision = target.revision AND newest.target_text = target.target_text) LIMIT 5`),
      wrongCounts: all(`SELECT task.task_seq, draft, untranslated, stale FROM task JOIN build USING (build_id)
        WHERE build.state = 'current' AND (draft <> (SELECT count(*) FROM task_unit JOIN target USING (unit_id)
          WHERE task_unit.task_seq = task.task_seq AND state = 'draft')
        OR draft + untranslated + stale <> (SELECT count(*) FROM task_unit WHERE task_unit.task_seq = task.task_seq))`),
    };
  } finally {
    database.close();
  }
}

async function draftsOf(world: TranslationSystem, releaseId: string): Promise<number> {
  const { items = [] } = await world.report('translation.tasks', { release_id: releaseId, limit: '1000' });
  return (items as { unit_counts: Record<string, number> }[]).reduce(
    (sum, { unit_counts: counts }) => sum + (counts['draft'] ?? 0),
    0,
  );
}

async function isRunning(world: TranslationSystem, taskId: string): Promise<boolean> {
  const { task } = await world.report('task.status', { task_id: taskId });
  return ['queued', 'running'].includes((task as { status: string }).status);
}

describe('the daemon killed at random during a run with 4 workers', () => {
  it(
    `writes no unit twice, loses no stored target and has the whole history, ${ROUNDS} times`,
    { timeout: campaignTimeout(ROUNDS, 15_000) },
    async () => {
      const server = await startTranslationServer(async (body, response, request) => {
        await delay(ANSWER_MS);
        await libreTranslate((source) => source.replaceAll('の', '的'))(body, response, request);
      });
      const provider = { kind: 'libretranslate', url: server.url, allowHosts: ['127.0.0.1'] };
      const world = await startTranslationSystem(textsOf(1), {
        translation: { provider: 'loop', providers: { loop: provider } },
        parse: { automatic: true },
      });
      const random = createRandom(415);
      const start = async (): Promise<string> => {
        const { body } = await world.act('translation-worker-run', {
          concurrency: 4,
          lease_seconds: 2,
          args: ['max_tokens=1000000'],
        });
        expect(body).toMatchObject({ accepted: true });
        return String(body['task_id']);
      };
      let generation = 1;
      let before: ReadonlyMap<number, string> = new Map();
      let taskId = await start();
      for (let round = 1; round <= ROUNDS; round += 1) {
        // The work decides, not the clock, so that slow machines kill the daemon at work, too.
        const last = server.seen() + random.below(MOST_REQUESTS);
        await until(async () => server.seen() >= last || !(await isRunning(world, taskId)));
        await delay(random.below(2 * ANSWER_MS));
        const reported = await draftsOf(world, `r${generation}`);
        await world.system.daemon.kill();
        const stored = readStored(world.system.directory);
        expect(stored.twice).toEqual([]);
        expect(stored.strayTargets).toEqual([]);
        expect(stored.wrongCounts).toEqual([]);
        expect([...before].filter(([entry, row]) => stored.history.get(entry) !== row)).toEqual([]);
        expect(stored.history.size).toBeGreaterThanOrEqual(before.size);
        before = stored.history;
        await world.system.startDaemon();
        const kept = await draftsOf(world, `r${generation}`);
        expect(kept).toBeGreaterThanOrEqual(reported);
        if (FILES * UNITS_OF_FILE - kept < FEW_UNITS) {
          generation += 1;
          await world.publish(`r${generation}`, textsOf(generation));
        }
        if (!(await isRunning(world, taskId))) taskId = await start();
      }
      const total = FILES * UNITS_OF_FILE;
      await until(async () => {
        if (!(await isRunning(world, taskId))) taskId = await start();
        return (await draftsOf(world, `r${generation}`)) === total;
      });
      await until(async () => !(await isRunning(world, taskId)));
      await world.system.daemon.stop();
      const stored = readStored(world.system.directory);
      expect([stored.twice, stored.strayTargets, stored.wrongCounts]).toEqual([[], [], []]);
      expect(stored.history.size).toBeGreaterThanOrEqual(total);
    },
  );
});
