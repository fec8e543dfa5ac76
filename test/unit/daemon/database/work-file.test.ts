import { readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DatabaseDamagedError, DatabaseError } from '../../../../src/daemon/database/database-error.ts';
import { createWorkFile } from '../../../../src/daemon/database/work-file.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const CORRUPT = Object.assign(new Error('malformed'), { errcode: 11 });

/** A file whose opening a test controls. */
async function controlled() {
  const path = join(await temporaryDirectory(), 'work.db');
  await writeFile(path, 'one');
  const state = { now: 0, opened: 0, closed: 0, error: null as Error | null };
  const file = createWorkFile({
    path,
    content: 'the work',
    monotonic: () => state.now,
    open: () => {
      state.opened += 1;
      if (state.error !== null) throw state.error;
      return { close: () => (state.closed += 1) };
    },
  });
  return { path, state, use: () => file.use(() => 'used'), file };
}

describe('a file of human work', () => {
  it('is opened once', async () => {
    const { use, state } = await controlled();
    expect([use(), use()]).toEqual(['used', 'used']);
    expect(state).toMatchObject({ opened: 1, closed: 0 });
  });

  it('is not opened again immediately after a failure, but after some seconds or a change', async () => {
    const { path, use, state } = await controlled();
    state.error = new DatabaseError('cannot be used');
    expect(use).toThrow('cannot be used');
    state.error = null;
    expect(use).toThrow('cannot be used');
    expect(state.opened).toBe(1);
    state.now = 5000;
    expect(use()).toBe('used');

    const second = await controlled();
    second.state.error = new DatabaseError('cannot be used');
    expect(second.use).toThrow('cannot be used');
    second.state.error = null;
    await utimes(second.path, 1, 1);
    expect(second.use()).toBe('used');
    expect(path).not.toBe(second.path);
  });

  it('is closed when SQLite finds damage, which then is named', async () => {
    const { file, state } = await controlled();
    const fail = () => {
      throw CORRUPT;
    };
    expect(() => file.use(fail)).toThrow(DatabaseDamagedError);
    expect(state.closed).toBe(1);
    expect(() => file.use(() => 'used')).toThrow('is damaged (malformed)');
    expect(state.opened).toBe(1);
  });

  it('stays open when its work fails for another reason', async () => {
    const { file, state } = await controlled();
    const fail = () => {
      throw new Error('refused');
    };
    expect(() => file.use(fail)).toThrow('refused');
    expect(file.use(() => 'used')).toBe('used');
    expect(state).toMatchObject({ opened: 1, closed: 0 });
  });

  it('is opened again when another file takes its place, and missed when it is gone', async () => {
    const { path, use, state } = await controlled();
    use();
    await writeFile(`${path}.new`, 'two');
    await rename(`${path}.new`, path);
    expect(use()).toBe('used');
    expect(state).toMatchObject({ opened: 2, closed: 1 });
    await rm(path);
    expect(use).toThrow('was there before and is missing now');
    expect(state).toMatchObject({ opened: 2, closed: 2 });
  });

  it('is not taken for a new one when nothing of it is left', async () => {
    const { path, use, file, state } = await controlled();
    expect(use()).toBe('used');
    file.close();
    await writeFile(path, '');
    expect(use).toThrow('was there before and is empty now; restore it from a backup');
    // A database whose content is still in the log only is whole.
    await writeFile(`${path}-wal`, 'log');
    state.now = 5000;
    expect(use()).toBe('used');
  });

  it('is missed when it was deleted with all files whose names begin with its name', async () => {
    const { path, use, file } = await controlled();
    use();
    file.close();
    const folder = dirname(path);
    for (const name of await readdir(folder)) if (name.startsWith('work.db')) await rm(join(folder, name));
    expect(use).toThrow(`delete ${join(folder, '.work.db.created')} to begin with an empty one`);
  });

  it('is missed by the marker of an earlier version, which a use replaces', async () => {
    const { path, use, file, state } = await controlled();
    await writeFile(`${path}.created`, '');
    await rm(path);
    expect(use).toThrow(
      `was there before and is missing now; restore it from a backup, or delete ${path}.created`,
    );
    await writeFile(path, 'restored');
    state.now = 5000;
    expect(use()).toBe('used');
    file.close();
    expect((await readdir(dirname(path))).sort()).toEqual(['.work.db.created', 'work.db']);
  });
});
