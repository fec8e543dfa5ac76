import { chmod, readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { objectPath } from '../../src/snapshot/volume/layout.ts';
import {
  startTranslationSystem,
  textFile,
  type TextFiles,
  type TranslationSystem,
} from '../support/translation-system.ts';

const FILES: TextFiles = { 'a.json': ['おはよう'], 'b.json': ['先生'] };
const FORCED = { from_worker: true, force: true };
const RESUMED = { ...FORCED, args: ['resume=true'] };

type Fields = Readonly<Record<string, unknown>>;

/** Sorted: releases of the same second have no order. */
function historyOf(rows: readonly Fields[]): readonly string[] {
  return rows
    .map(({ localized_release_id: id, base_release_id: base, rolled_back: rollback }) => {
      const why = rollback === null ? '' : ` rolled back: ${String((rollback as Fields)['reason'])}`;
      return `${String(id)} of ${String(base)}${why}`;
    })
    .toSorted();
}

/** The statements of all reports on the two channels, next to each other. */
async function told(localization: TranslationSystem): Promise<Fields> {
  const status = await localization.report('release.status');
  const list = await localization.report('release.list');
  const translation = await localization.report('translation.status');
  const handoff = await localization.report('translation.handoff');
  const localized = status['localized'] as Fields | null;
  const { official: authorizedOfficial, localized: authorized } = (status['attestation'] as Fields)[
    'authorizes'
  ] as Fields;
  const current = translation['current'] as Fields | null;
  const [work = {}] = handoff['releases'] as readonly Fields[];
  return {
    localized: localized === null ? null : `${String(localized['release_id'])} ${String(localized['state'])}`,
    relation: status['relation'],
    attested: [authorizedOfficial, authorized],
    list: (list['releases'] as readonly Fields[])
      .map((row) =>
        [
          row['release_id'],
          row['state'],
          ...(row['stale'] === true ? ['stale'] : []),
          ...((row['artifact_integrity'] as Fields)['ok'] === true ? [] : ['not ok']),
        ].join(' '),
      )
      .toSorted(),
    current:
      current === null
        ? null
        : `${String(current['localized_release_id'])} ${String(current['integrity'])}${current['stale'] === true ? ' stale' : ''}`,
    history: historyOf(translation['history'] as readonly Fields[]),
    automation: (translation['automation'] as Fields)['state'],
    blockers: Object.fromEntries(
      (translation['publish_blockers'] as readonly Fields[]).map((each) => [each['code'], each['count']]),
    ),
    tasks: work['counts'],
    held: [work['held_total'], (work['held'] as readonly Fields[]).map(({ reason }) => reason)],
  };
}

async function translate(localization: TranslationSystem, destination: string, text: string): Promise<void> {
  const translation_results = (await localization.units(destination)).map(({ unit_id, source_text }) => ({
    unit_id,
    source_text,
    translated_text: text,
  }));
  const { task_id } = await localization.task(destination);
  const update = { task_id, status: 'translated', translation_results };
  expect((await localization.act('translation-task-update', update)).status).toBe(202);
}

it('all reports tell the same of both channels, whatever has happened to them', async () => {
  const localization = await startTranslationSystem(FILES, { localized: { minState: 'translated' } });
  const { system } = localization;
  const state = async (expected: Fields): Promise<void> => {
    expect(await told(localization)).toMatchObject(expected);
  };

  // Nothing is published yet.
  await state({
    localized: null,
    relation: 'no_localized',
    attested: ['r1', null],
    list: ['r1 current'],
    current: null,
    history: [],
    automation: 'off',
    blockers: { coverage_incomplete: 0, untranslated: 2 },
    tasks: { pending: 2 },
    held: [0, []],
  });

  // Published, and again with another text.
  await translate(localization, 'a.json', '早上好');
  await system.run('localized-publish', FORCED);
  await translate(localization, 'b.json', '老师');
  await system.run('localized-publish', FORCED);
  await state({
    localized: 'r1-l2 current',
    relation: 'in_sync',
    attested: ['r1', 'r1-l2'],
    list: ['r1 current', 'r1-l1 superseded', 'r1-l2 current'],
    current: 'r1-l2 ok',
    history: ['r1-l1 of r1', 'r1-l2 of r1'],
    blockers: {},
    tasks: { published: 2 },
    held: [0, []],
  });

  // Damaged: only the localized release has the patched file.
  const damaged = objectPath(system.snapshotRoot, blake3Hex(textFile(['老师'])));
  const bytes = await readFile(damaged);
  await chmod(damaged, 0o644);
  await writeFile(damaged, 'x'.repeat(bytes.length));
  await system.control('verify').then(async ({ task_id: id }) => await ended(localization, id));
  await state({
    localized: 'r1-l2 damaged',
    relation: 'in_sync',
    attested: ['r1', null],
    list: ['r1 current', 'r1-l1 superseded', 'r1-l2 damaged not ok'],
    current: 'r1-l2 damaged',
    tasks: { published: 2 },
  });
  await writeFile(damaged, bytes);
  await system.run('verify');
  await state({ localized: 'r1-l2 current', attested: ['r1', 'r1-l2'], current: 'r1-l2 ok' });

  // Rolled back to the release before.
  await system.run('localized-rollback', { reviewer: 'Rin', reason: 'wrong tone' });
  await state({
    localized: 'r1-l1 current',
    relation: 'in_sync',
    attested: ['r1', 'r1-l1'],
    list: ['r1 current', 'r1-l1 current', 'r1-l2 superseded'],
    current: 'r1-l1 ok',
    history: ['r1-l1 of r1', 'r1-l2 of r1 rolled back: wrong tone'],
    blockers: { on_hold: 1 },
    tasks: { published: 1, translated: 1 },
    held: [1, ['wrong tone']],
  });

  // Withdrawn: there is no release before it.
  await system.run('localized-rollback', { reviewer: 'Rin', reason: 'wrong words' });
  await state({
    localized: null,
    relation: 'no_localized',
    attested: ['r1', null],
    list: ['r1 current', 'r1-l1 superseded', 'r1-l2 superseded'],
    current: null,
    history: ['r1-l1 of r1 rolled back: wrong words', 'r1-l2 of r1 rolled back: wrong tone'],
    blockers: { on_hold: 1 },
    tasks: { translated: 2 },
    held: [1, ['wrong tone']],
  });

  // Published again after a review, which resumes.
  for (const destination of ['a.json', 'b.json']) {
    const { task_id } = await localization.task(destination);
    await localization.act('translation-proofread', { task_id, status: 'proofread', reviewer: 'Rin' });
  }
  await system.run('localized-publish', RESUMED);
  await state({ current: 'r1-l2 ok', blockers: {}, tasks: { published: 2 }, held: [0, []] });

  // Two rollbacks end at the same release. Following, switched on now, is stopped by them.
  for (const [id, reason] of [
    ['r1-l1', 'wrong tone'],
    ['r1-l2', 'wrong words'],
  ])
    await system.run('localized-rollback', { localized_release_id: id, reviewer: 'Rin', reason });
  const { task_id } = await localization.task('b.json');
  await localization.act('translation-proofread', { task_id, status: 'proofread', reviewer: 'Rin' });
  await system.daemon.stop();
  await writeFile(
    system.daemonConfiguration,
    (await readFile(system.daemonConfiguration, 'utf8')).replace(
      'minState: translated',
      'minState: translated\n  auto: true',
    ),
  );
  await system.startDaemon();
  await state({ current: 'r1-l2 ok', automation: 'stopped' });

  // Stale: another official release, which nothing follows.
  await localization.publish('r2', { ...FILES, 'c.json': ['新しい'] });
  await state({
    localized: 'r1-l2 current',
    relation: 'stale',
    attested: ['r2', null],
    list: ['r1 superseded', 'r1-l1 superseded stale', 'r1-l2 current stale', 'r2 current'],
    current: 'r1-l2 ok stale',
    history: ['r1-l1 of r1 rolled back: wrong words', 'r1-l2 of r1'],
    automation: 'stopped',
    blockers: { untranslated: 1 },
  });
});

/** Waits until a task has ended, whatever its end. */
async function ended(localization: TranslationSystem, taskId: string): Promise<void> {
  await expect
    .poll(
      async () =>
        ((await localization.report('task.status', { task_id: taskId }))['task'] as Fields)['status'],
    )
    .toMatch(/succeeded|failed/);
}
