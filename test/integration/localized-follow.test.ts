import { chmod, truncate } from 'node:fs/promises';
import { expect, it } from 'vitest';
import type { Blake3Hex } from '../../src/domain/release/digest.ts';
import { objectPath } from '../../src/snapshot/volume/layout.ts';
import { CDN_HOST } from '../support/system.ts';
import { startTranslationSystem, type TextFiles } from '../support/translation-system.ts';
import { until } from '../support/until.ts';

const FILES: TextFiles = { 'a.json': ['おはよう', 'さようなら'], 'b.json': ['先生'] };

it('follows the official release by itself, also over a restart, until it is rolled back', async () => {
  const localization = await startTranslationSystem(FILES, {
    localized: { auto: true, minState: 'translated' },
  });
  const { system } = localization;
  const status = async (): Promise<Record<string, unknown>> =>
    await localization.report('translation.status');
  const untilCurrent = async (id: string): Promise<void> => {
    await until(async () => {
      const { current } = await status();
      return (current as { localized_release_id?: string } | null)?.localized_release_id === id;
    });
  };
  expect(await status()).toMatchObject({
    current: null,
    automation: {
      state: 'waiting',
      message: expect.stringMatching(/^no unit can be published: \d+ untranslated$/) as string,
    },
  });
  const translation_results = (await localization.units('a.json')).map(({ unit_id, source_text }) => ({
    unit_id,
    source_text,
    translated_text: `译${source_text.length}`,
  }));
  const { task_id } = await localization.task('a.json');
  await localization.act('translation-task-update', { task_id, status: 'translated', translation_results });
  await system.daemon.stop();
  await system.startDaemon();
  await untilCurrent('r1-l1');
  expect(await status()).toMatchObject({ automation: { state: 'followed' } });

  const health = async (): Promise<Record<string, unknown>> =>
    (await (await fetch(`${system.server.url}/healthz`)).json()) as Record<string, unknown>;
  await system.startServer();
  await until(async () => (await health())['status'] === 'ok');
  const linesBefore = system.server.lines.length;
  // New text does not keep the texts that are translated already from their players.
  await localization.publish('r2', { ...FILES, 'c.json': ['新しい'] });
  await untilCurrent('r2-l1');
  expect(await status()).toMatchObject({ current: { base_release_id: 'r2', stale: false } });
  // A localized release on its way logs no warning.
  await until(async () => {
    const { verdicts } = (await health()) as { verdicts: { localized: { release_id: string } } };
    return verdicts.localized.release_id === 'r2-l1';
  });
  const lines = system.server.lines.slice(linesBefore).map((line) => JSON.parse(line) as { level: string });
  expect(lines.filter(({ level }) => level !== 'info')).toEqual([]);

  // No upstream has a patched file, so a damaged one is made again.
  const page = await fetch(`${system.serverUrl}/v1/distribution?channel=localized&destination=a.json`);
  const { items } = (await page.json()) as { items: [{ blake3: Blake3Hex }] };
  const object = objectPath(system.snapshotRoot, items[0].blake3);
  await chmod(object, 0o644);
  await truncate(object, 1);
  const url = `${system.serverUrl}/${CDN_HOST}/r2-l1/a.json`;
  expect((await fetch(url)).status).toBe(503);
  await until(async () => (await fetch(url)).status === 200);
  // The server serves the file as soon as it is sound, and the daemon finishes the repair.
  await expect.poll(status).toMatchObject({
    current: { localized_release_id: 'r2-l1', integrity: 'ok' },
    automation: { state: 'followed' },
  });

  await system.run('localized-rollback', { reviewer: 'Rin', reason: 'wrong tone' });
  await localization.publish('r3', { ...FILES, 'c.json': ['もっと新しい'] });
  expect(await status()).toMatchObject({ current: null, automation: { state: 'stopped' } });
  const doctor = await localization.report('daemon.doctor');
  expect(doctor['checks']).toContainEqual(
    expect.objectContaining({
      id: 'localized.automation',
      status: 'ok',
      message: expect.stringContaining(
        'rolled back by Rin (wrong tone); fix the cause, then publish with args=resume=true',
      ) as string,
    }),
  );
  // Somebody has decided it.
  await expect.poll(health).toMatchObject({
    status: 'ok',
    service: {
      state: 'healthy',
      channels: { localized: { state: 'withdrawn', reason: 'ReleaseWithdrawn' } },
    },
  });
});
