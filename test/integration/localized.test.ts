import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sharedFixture } from '../support/shared-fixture.ts';
import { CDN_HOST } from '../support/system.ts';
import {
  startTranslationSystem,
  type TextFiles,
  type TranslationSystem,
} from '../support/translation-system.ts';
import { until } from '../support/until.ts';

const FILES: TextFiles = {
  'a.json': ['おはよう{0}', 'さようなら'],
  'b.json': ['先生'],
};
const TARGETS = ['早上好{0}', '再见'];

/** A daemon and a server with a release of two files, of which the text of the first is accepted. */
const started = sharedFixture(async (atEnd) => {
  const system = await startTranslationSystem(FILES, {}, atEnd, {});
  const { task_id } = await system.task('a.json');
  const translation_results = (await system.units('a.json')).map(({ unit_id, source_text }, at) => ({
    unit_id,
    source_text,
    translated_text: TARGETS[at],
  }));
  const translated = { task_id, status: 'translated', translation_results };
  expect((await system.act('translation-task-update', translated)).status).toBe(202);
  const accepted = { task_id, reviewer: 'Rin', status: 'proofread' };
  expect((await system.act('translation-proofread', accepted)).status).toBe(202);
  return system;
});

/** The body of the localized channel's distribution, or its problem. */
async function distribution(path = ''): Promise<Record<string, unknown>> {
  const response = await fetch(`${started().system.serverUrl}/v1/distribution?channel=localized${path}`);
  return { http: response.status, ...((await response.json()) as Record<string, unknown>) };
}

async function served(releaseId: string, destination: string): Promise<string> {
  const { system } = started();
  const response = await fetch(`${system.serverUrl}/${CDN_HOST}/${releaseId}/${destination}`);
  expect(response.status).toBe(200);
  return await response.text();
}

describe('the localized channel of a running system', () => {
  it('is published, served and rolled back; texts that were taken back stay out, until a file of translations is published', async () => {
    const localization = started();
    const { system } = localization;
    const dry = await system.run('localized-publish', { from_worker: true, args: ['dry_run=true'] });
    expect(dry.result).toMatchObject({
      dry_run: true,
      blockers: [],
      files: [{ destination: 'a.json', edited_units: 2 }],
    });
    const { result } = await system.run('localized-publish', { from_worker: true, reviewer: 'Rin' });
    expect(result).toMatchObject({
      localized_release_id: 'r1-l1',
      base_release_id: 'r1',
      built_containers: 1,
      checked: { edited_units: 2, other_units: 0 },
      files: [{ destination: 'a.json' }],
    });
    await until(async () => (await distribution())['http'] === 200);
    expect(await distribution()).toMatchObject({ release_id: 'r1-l1' });
    expect(JSON.parse(await served('r1-l1', 'a.json'))).toEqual([
      { Id: 1, Text: '早上好{0}' },
      { Id: 2, Text: '再见' },
    ]);
    expect(await served('r1-l1', 'b.json')).toBe(await served('r1', 'b.json'));
    expect(await served('r1', 'a.json')).toContain('おはよう');
    expect((await localization.task('a.json')).status).toBe('published');
    expect(await localization.report('translation.status')).toMatchObject({
      current: { localized_release_id: 'r1-l1', base_release_id: 'r1', integrity: 'ok', stale: false },
      history: [{ localized_release_id: 'r1-l1', state: 'current' }],
    });

    const back = await system.run('localized-rollback', { reviewer: 'Rin', reason: 'wrong tone' });
    expect(back.result).toMatchObject({ withdrawn: true, held_units: 0 });
    await until(async () => (await distribution())['http'] !== 200);
    expect((await localization.tasks('a.json')).map(({ status }) => status)).not.toContain('published');
    expect((await localization.units('a.json')).map(({ translation }) => translation?.['state'])).toEqual([
      'proofread',
      'proofread',
    ]);
    expect(
      await system
        .control('localized-publish', { from_worker: true })
        .then(async ({ task_id }) => await endedTask(task_id)),
    ).toMatchObject({ status: 'failed', failure_code: 'release_rolled_back' });
    expect(await localization.report('translation.status')).toMatchObject({
      current: null,
      history: [{ localized_release_id: 'r1-l1', state: 'superseded' }],
      publish_blockers: [
        {
          code: 'release_rolled_back',
          message:
            'the channel is withdrawn since localized release r1-l1 was rolled back; fix the cause, then publish with args=resume=true',
        },
        { code: 'untranslated' },
      ],
    });
    await expectPublishedFile(localization);
  });
});

/** Publishes a file of translations after the rollback. Its texts are served, and do not become targets. */
async function expectPublishedFile(localization: TranslationSystem): Promise<void> {
  const { system } = localization;
  const before = await localization.units('a.json');
  const [first] = before;
  const [other] = await localization.units('b.json');
  const rows = [first, other].map((unit, at) =>
    [unit?.unit_id, unit?.source_text, ['早安{0}', '老师'][at]].join(','),
  );
  const exchange = join(system.directory, 'data', 'exchange');
  await mkdir(exchange, { recursive: true });
  await writeFile(join(exchange, 'vendor.csv'), ['unit_id,source_text,target_text', ...rows, ''].join('\n'));
  const body = { translation_file: 'vendor.csv', reviewer: 'Rin', args: ['resume=true'] };
  expect((await system.run('localized-publish', body)).result).toMatchObject({
    localized_release_id: 'r1-l2',
    resumed: true,
    units: { published: 2 },
    files: [{ destination: 'a.json' }, { destination: 'b.json' }],
  });
  await until(async () => (await distribution())['release_id'] === 'r1-l2');
  expect(JSON.parse(await served('r1-l2', 'a.json'))).toEqual([
    { Id: 1, Text: '早安{0}' },
    { Id: 2, Text: 'さようなら' },
  ]);
  expect(JSON.parse(await served('r1-l2', 'b.json'))).toEqual([{ Id: 1, Text: '老师' }]);
  expect(await localization.units('a.json')).toEqual(before);
  expect((await localization.task('a.json')).status).not.toBe('published');
}

async function endedTask(taskId: string): Promise<Record<string, unknown>> {
  return await until(async () => {
    const { task = {} } = await started().report('task.status', { task_id: taskId });
    const ended = task as Record<string, unknown>;
    return ['succeeded', 'failed'].includes(String(ended['status'])) ? ended : null;
  });
}
