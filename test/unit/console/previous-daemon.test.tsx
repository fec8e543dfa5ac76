import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ReleaseStatusReport } from '../../../../../src/contract/reports/report-releases.ts';
import { ScheduleListReport } from '../../../../../src/contract/reports/report-schedules.ts';
import type { App } from '../../../../../src/server/dashboard/assets/app.js';
import type { View } from '../../../../../src/server/dashboard/assets/view.js';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const ASSETS = fileURLToPath(new URL('../../../../../src/server/dashboard/assets', import.meta.url));

/** Renders a view with these reports. The library lies beside the assets, as the server sends it. */
async function rendered(
  name: 'overviewView' | 'schedulesView',
  file: string,
  reports: Readonly<Record<string, object>>,
): Promise<string> {
  const folder = await temporaryDirectory();
  await cp(ASSETS, folder, { recursive: true });
  const library = fileURLToPath(import.meta.resolve('preact'));
  await writeFile(join(folder, 'preact.js'), `export * from ${JSON.stringify(library)};\n`);
  const module = (await import(pathToFileURL(join(folder, file)).href)) as Record<typeof name, View>;
  const state = (report: string): object => ({
    value: reports[report] ?? null,
    failure: null,
    loadedAt: 0,
    nextAt: null,
  });
  const app = { pool: { state }, canControl: () => false, now: () => 1_780_000_000 } as unknown as App;
  return JSON.stringify(module[name].render(app));
}

describe('the reports of a daemon of the previous version', () => {
  it('are shown without the state of the syncs', async () => {
    const shown = async (report: object): Promise<string> =>
      await rendered('overviewView', 'overview-view.js', { 'release.status': report });
    const now = ReleaseStatusReport.example;
    expect(await shown(now)).toContain('Last sync');
    const previous = await shown({ ...now, sync: undefined });
    expect(previous).toContain(now.official?.release_id);
    expect(previous).not.toContain('Last sync');
  });

  it('are shown with schedules that nothing replaces', async () => {
    const items = ScheduleListReport.example.items.map((row) => ({
      ...row,
      origin: undefined,
      replaced_by: undefined,
    }));
    const shown = await rendered('schedulesView', 'schedules-view.js', { 'schedule.list': { items } });
    expect(shown).toContain('nightly-verify');
    expect(shown).not.toContain('Replaced by');
  });
});
