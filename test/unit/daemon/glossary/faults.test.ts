import { execFileSync } from 'node:child_process';
import { copyFile, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { createTestGlossary, type TestGlossary } from '../../../support/glossary.ts';
import { askReport } from '../../../support/reports.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { canMount, mountTmpfs } from '../../../support/tmpfs.ts';

const SIGNAL = new AbortController().signal;
const UNAVAILABLE = { code: 'backend_unavailable' };
const UNIT = { sourceText: '先生', translatedText: null, context: {}, wasProofread: true };

/** A folder with a Glossary of one term, closed. */
async function folderWithTerm(): Promise<string> {
  const world = await createTestGlossary();
  await world.add({ term_id: 't' });
  await world.glossary.close();
  return world.directory;
}

async function expectUnavailable(world: TestGlossary, reason: string): Promise<void> {
  const { reports, check } = world.glossary;
  const contains = expect.stringContaining(reason) as string;
  expect(await askReport(reports, 'translation.glossary.summary')).toMatchObject({
    available: false,
    reason: contains,
  });
  for (const report of ['translation.glossary.query', 'translation.glossary.diagnose'] as const) {
    await expect(askReport(reports, report, { source_text: 'x' })).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: contains,
    });
  }
  await expect(world.add()).rejects.toMatchObject({ ...UNAVAILABLE, message: contains });
  await expect(world.glossary.diagnose({ units: [UNIT] })).rejects.toMatchObject(UNAVAILABLE);
  expect(await check.run(SIGNAL)).toMatchObject({ status: 'failing', message: contains });
  await world.glossary.open();
  expect(world.glossary.latestSummary()).toBeNull();
}

describe('a Glossary that cannot be used', () => {
  it.each<[string, string, (path: string) => Promise<void>]>([
    ['is missing', 'is missing now', async (path) => await rm(path)],
    ['is not a database', 'is damaged', async (path) => await writeFile(path, 'x'.repeat(5000))],
    ['is cut off', 'is damaged', async (path) => await truncate(path, 9000)],
    ['is of another program', 'another program', async (path) => pragma(path, 'application_id = 7')],
    ['is of a newer schema', 'newer daemon', async (path) => pragma(path, 'user_version = 99')],
  ])(
    'because it %s stays as it is, answers 503, and is used again when it is restored',
    async (_, reason, spoil) => {
      const directory = await folderWithTerm();
      const path = join(directory, 'glossary.db');
      const backup = join(directory, 'backup.db');
      await copyFile(path, backup);
      await spoil(path);
      const spoiled = await readFile(path).catch(() => null);

      const world = await createTestGlossary({ directory });
      await expectUnavailable(world, reason);
      expect(await readFile(path).catch(() => null)).toEqual(spoiled);

      await rm(path, { force: true });
      await rename(backup, path);
      expect(await world.term('t')).toMatchObject({ source_term: '先生' });
      await world.add({ source_term: 'x' });
      expect(await world.glossary.check.run(SIGNAL)).toEqual({
        status: 'ok',
        message: 'sound, terms: 2 draft, 0 approved, 0 deprecated, 0 rejected; generation 2',
      });
    },
  );

  it('because it was moved away while it is open does not write where nobody reads', async () => {
    const world = await createTestGlossary();
    await world.add({ term_id: 't' });
    await rename(world.path, `${world.path}.moved`);
    await expectUnavailable(world, 'is missing now');
    await rename(`${world.path}.moved`, world.path);
    expect(await world.term('t')).toBeDefined();
  });

  it('begins empty when its marker is deleted, too', async () => {
    const directory = await folderWithTerm();
    await rm(join(directory, 'glossary.db'));
    await rm(join(directory, '.glossary.db.created'));
    const world = await createTestGlossary({ directory });
    expect(await askReport(world.glossary.reports, 'translation.glossary.summary')).toMatchObject({
      available: true,
      generation: 0,
    });
  });

  it.runIf(canMount())('because its volume is read-only says so', async () => {
    const directory = await temporaryDirectory();
    mountTmpfs(directory, '4m');
    const data = join(directory, 'data');
    await mkdir(data);
    const first = await createTestGlossary({ directory: data });
    await first.add({ term_id: 't' });
    await first.glossary.close();
    execFileSync('mount', ['-o', 'remount,ro', directory]);
    const world = await createTestGlossary({ directory: data });
    await expectUnavailable(world, 'cannot be');
    execFileSync('mount', ['-o', 'remount,rw', directory]);
  });

  it.runIf(canMount())('for writing, because its volume is full, says so and can still be read', async () => {
    const directory = await temporaryDirectory();
    mountTmpfs(directory, '1m');
    const world = await createTestGlossary({ directory });
    await world.add({ term_id: 't' });
    const note = 'x'.repeat(60_000);
    const source = { source_kind: 'manual', observed_unix_seconds: 1, source_note: note };
    const fillUp = async (): Promise<void> => {
      for (let index = 0; index < 40; index += 1) await world.add({ source_term: `x${index}`, source });
    };
    await expect(fillUp()).rejects.toMatchObject({ code: 'data_full' });
    expect(await world.term('t')).toBeDefined();
  });
});

async function pragma(path: string, text: string): Promise<void> {
  const raw = new DatabaseSync(path);
  raw.exec(`PRAGMA ${text}`);
  raw.close();
  await Promise.resolve();
}
