import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { listOperations } from '../../src/contract/operations/operations.ts';
import { TRANSLATION_ACTIONS } from '../../src/contract/actions/actions-translation.ts';
import type { ReportName } from '../../src/contract/reports/reports.ts';
import { REFUSAL_CASES } from '../support/refusal-cases.ts';
import { openPlace, textsOf, writeNamedFiles } from '../support/refusal-place.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startServedTranslation, type ServedTranslation } from '../support/served-translation.ts';

type TranslationAction = keyof typeof TRANSLATION_ACTIONS;

/** A database of the daemon, and what needs it; everything else works without it. */
interface Damage {
  readonly file: string;
  /** Part of the reason that each refusal gives. */
  readonly reason: string;
  readonly reads: readonly ReportName[];
  readonly actions: readonly TranslationAction[];
  /** Members of reports that are answered and say that the part is missing. */
  readonly told: Partial<Readonly<Record<ReportName, object>>>;
}

const UPDATE = 'translation-task-update';
const PROOFREAD = 'translation-proofread';

const DAMAGES: readonly Damage[] = [
  {
    file: 'translation.db',
    reason: 'translation.db cannot be used',
    reads: ['translation.tasks', 'translation.handoff', 'translation.status'],
    actions: [UPDATE, PROOFREAD, 'translation-worker-run'],
    told: { 'parse.text_units': { translations: { available: false } } },
  },
  {
    file: 'memory.db',
    reason: 'the Translation Memory cannot be used',
    reads: ['translation.memory.query', 'translation.memory.conflicts'],
    actions: ['translation-memory-confirm', 'translation-memory-resolve-conflict'],
    told: {
      'translation.memory.summary': { available: false },
      'translation.handoff': { open_conflicts: null },
    },
  },
  {
    file: 'glossary.db',
    reason: 'the Glossary cannot be used',
    reads: ['translation.glossary.query', 'translation.glossary.diagnose'],
    actions: [
      UPDATE,
      PROOFREAD,
      'translation-glossary-add',
      'translation-glossary-update',
      'translation-glossary-approve',
      'translation-glossary-deprecate',
      'translation-glossary-delete',
    ],
    told: { 'translation.glossary.summary': { available: false } },
  },
  {
    file: 'index.db',
    reason: 'parse',
    reads: ['parse.text_units', 'parse.errors'],
    actions: [UPDATE, PROOFREAD],
    told: { 'parse.status': { release_id: null } },
  },
];

const ACTIONS = Object.keys(TRANSLATION_ACTIONS) as TranslationAction[];
const topicOf = ({ file }: Damage, action: string): string => `${file}-${action}`;

const READS = listOperations().flatMap(({ path, daemon }) => {
  if (!/^\/admin\/(parse|translation)\//.test(path)) return [];
  if (daemon === undefined || !('report' in daemon)) return [];
  const query = /memory\/query$|diagnose$/.test(path) ? '?source_text=x' : '';
  return [{ report: daemon.report, path: path.slice('/admin/'.length) + query }];
});

const started = sharedFixture(async (atEnd) => {
  const topics = DAMAGES.flatMap((damage) => ACTIONS.map((action) => topicOf(damage, action)));
  const files = Object.fromEntries(topics.map((topic) => [`${topic}.json`, textsOf(topic)]));
  const world = await startServedTranslation(files, {}, atEnd);
  await writeNamedFiles(join(world.system.directory, 'data'));
  // An index that was lost would be made again immediately.
  const { daemonConfiguration: path } = world.system;
  const configuration = parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, stringify({ ...configuration, parse: { automatic: false } }));
  /** What each action is asked for while a database is damaged. */
  const bodies = new Map<Damage, Map<TranslationAction, object>>();
  for (const damage of DAMAGES) {
    const ofDamage = new Map<TranslationAction, object>();
    for (const action of ACTIONS) {
      const place = await openPlace(world, topicOf(damage, action));
      ofDamage.set(action, await REFUSAL_CASES[action].accepted(place));
    }
    bodies.set(damage, ofDamage);
  }
  return { world, bodies };
});

/** Runs work with a daemon whose database is damaged, and leaves the sound one to a daemon that is not started. */
async function withDamage(
  { system }: ServedTranslation,
  file: string,
  work: () => Promise<void>,
): Promise<void> {
  const database = join(system.directory, 'data', file);
  await system.daemon.stop();
  await copyFile(database, `${database}.sound`);
  await writeFile(database, Buffer.alloc(8192, 'not of SQLite at all '));
  await system.startDaemon();
  await system.untilReady(true);
  await work();
  await system.daemon.stop();
  for (const suffix of ['-wal', '-shm']) await rm(database + suffix, { force: true });
  await copyFile(`${database}.sound`, database);
}

describe('the reads and actions of parse and translation with a damaged database', () => {
  it('knows all reads', () => {
    expect(READS).toHaveLength(12);
  });

  it.each(DAMAGES)('$file', async (damage) => {
    const { file, reason, reads, actions, told } = damage;
    const { world, bodies: all } = started();
    const bodies = all.get(damage) ?? new Map<TranslationAction, object>();
    await withDamage(world, file, async () => {
      const answers: string[] = [];
      for (const { report, path } of READS) {
        const { status, body } = await world.get(path);
        answers.push(status === 200 ? `${report}: 200` : `${report}: ${status} ${String(body['code'])}`);
        if (status === 503) expect(body['detail']).toContain(reason);
        if (told[report] !== undefined) expect(body).toMatchObject(told[report]);
      }
      expect(answers).toEqual(
        READS.map(({ report }) => `${report}: ${reads.includes(report) ? '503 backend_unavailable' : '200'}`),
      );
      const refusals: string[] = [];
      for (const action of ACTIONS) {
        const { status, body } = await world.post(action, bodies.get(action) ?? {});
        const { status: daemonStatus = '', code = '' } = (body['daemon'] ?? {}) as Record<string, unknown>;
        refusals.push(`${action}: ${status} ${String(daemonStatus)} ${String(code)}`);
        if (status === 502) expect(body['detail']).toContain(reason);
      }
      expect(refusals).toEqual(
        ACTIONS.map(
          (action) => `${action}: ${actions.includes(action) ? '502 503 backend_unavailable' : '202  '}`,
        ),
      );
    });
  });
});
