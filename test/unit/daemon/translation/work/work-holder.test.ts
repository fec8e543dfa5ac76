import { existsSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../../../src/daemon/database/sqlite-database.ts';
import { createWorkHolder, UNAVAILABLE } from '../../../../../src/daemon/translation/work/work-holder.ts';
import { systemClock } from '../../../../../src/platform/process/clock.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

async function openHolder() {
  const path = join(await temporaryDirectory(), 'translation.db');
  const holder = createWorkHolder(path, systemClock, (database: Database) => ({
    builds: () => database.prepare('SELECT count(*) AS builds FROM build').get()?.['builds'],
  }));
  onTestFinished(() => {
    holder.close();
  });
  return { path, builds: () => holder.use(({ builds }) => builds()) };
}

describe('translation.db', () => {
  it('is not made again when it was lost, and is used again when it is back', async () => {
    const { path, builds } = await openHolder();
    expect(builds()).toBe(0);
    await rename(path, `${path}.away`);
    expect(builds).toThrow(
      expect.objectContaining({ code: UNAVAILABLE, message: expect.stringContaining('is missing now') }),
    );
    expect(existsSync(path)).toBe(false);
    await rename(`${path}.away`, path);
    expect(builds()).toBe(0);
  });

  it('is left as it is when it is of another program', async () => {
    const { path, builds } = await openHolder();
    await writeFile(path, Buffer.alloc(8192, 'not of SQLite at all '));
    expect(builds).toThrow(
      expect.objectContaining({ code: UNAVAILABLE, message: expect.stringContaining('left as it is') }),
    );
  });
});
