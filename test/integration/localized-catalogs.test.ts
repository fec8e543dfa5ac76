import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { CDN_HOST } from '../support/system.ts';
import { startTranslationSystem, textFile, type TextFiles } from '../support/translation-system.ts';
import { until } from '../support/until.ts';

const FILES: TextFiles = { 'a.json': ['おはよう'] };
const [BEFORE, AFTER] = [textFile(['おはよう']), textFile(['Good morning'])];
const md5 = (bytes: string | Buffer): string => createHash('md5').update(bytes).digest('hex');
const list = (bytes: Buffer): string => `path,size,md5\r\na.json,${bytes.length},${md5(bytes)}\r\n`;

const LISTS = [{ files: ['list.csv'], format: 'csv', path: 'path', size: ['size'], checksums: ['md5'] }];

describe('the catalogs of a localized release', () => {
  it('are served with the figures of the localized files, or nothing is published', async () => {
    const others = { 'list.csv': list(BEFORE), 'list.hash': md5(list(BEFORE)) };
    const settings = { localized: { catalogs: { lists: LISTS } } };
    const localization = await startTranslationSystem(FILES, settings, undefined, {}, { others });
    const { system } = localization;
    const { task_id } = await localization.task('a.json');
    const [unit] = await localization.units('a.json');
    const results = [{ unit_id: unit!.unit_id, source_text: 'おはよう', translated_text: 'Good morning' }];
    const done = { task_id, status: 'translated', translation_results: results };
    expect((await localization.act('translation-task-update', done)).status).toBe(202);
    const accepted = { task_id, reviewer: 'Rin', status: 'proofread' };
    expect((await localization.act('translation-proofread', accepted)).status).toBe(202);

    const { result } = await system.run('localized-publish', { from_worker: true });
    expect(result).toMatchObject({
      localized_release_id: 'r1-l1',
      files: [{ destination: 'a.json' }, { destination: 'list.csv' }, { destination: 'list.hash' }],
    });
    const served = async (path: string): Promise<string> => {
      const url = `${system.serverUrl}/${CDN_HOST}/${path}`;
      const response = await until(async () => {
        const answer = await fetch(url);
        return answer.status === 200 ? answer : null;
      });
      return await response.text();
    };
    expect(await served('r1-l1/a.json')).toBe(AFTER.toString());
    expect(await served('r1-l1/list.csv')).toBe(list(AFTER));
    expect(await served('r1-l1/list.hash')).toBe(md5(list(AFTER)));
    expect(await served('r1/list.csv')).toBe(list(BEFORE));

    await localization.publish('r2', FILES, { ...others, 'sums.txt': `${md5(BEFORE)}  a.json\n` });
    const { task_id: publish } = await system.control('localized-publish', { from_worker: true });
    const failed = await until(async () => {
      const { task = {} } = await localization.report('task.status', { task_id: publish });
      const ended = task as Record<string, unknown>;
      return ended['status'] === 'failed' ? ended : null;
    });
    expect(failed).toMatchObject({
      failure_code: 'catalog_not_rewritten',
      failure_reason: expect.stringMatching(
        /^sums\.txt: it states the md5 .* of a\.json.*localized\.catalogs\.ignore/,
      ) as string,
    });
    expect(await localization.report('translation.status')).toMatchObject({
      current: { localized_release_id: 'r1-l1', stale: true },
    });
  });
});
