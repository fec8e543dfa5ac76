import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readDataIdentity } from '../../../src/engine/database/data-identity.ts';
import {
  acquireDataLock,
  DataLockHeldError,
  waitForDataLock,
} from '../../../src/engine/database/data-lock.ts';
import { DatabaseDamagedError, DatabaseError } from '../../../src/engine/database/database-error.ts';
import { withoutThreadWhileEmpty } from '../../../src/engine/database/empty-store.ts';
import { createWorkFile } from '../../../src/engine/database/work-file.ts';
import { copyForImport } from '../../../src/engine/exchange/import-copy.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { threadInProcess } from '../../../src/platform/threads/thread.ts';
import { LeaseFiles, type LeaseHolder } from '../../../src/snapshot/volume/lease-files.ts';
import { StoreRoot } from '../../../src/snapshot/volume/store-root.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const IDENTITY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[1-9][0-9]*$/;

async function identityOf(directory: string): Promise<LeaseHolder> {
  return await readDataIdentity(directory, createSilentLogger(), new Date(Date.UTC(2026, 0, 1)));
}

describe('the id of a data folder', () => {
  it('stays the same', async () => {
    const directory = await temporaryDirectory();
    const first = await identityOf(directory);
    expect(first.id).toMatch(IDENTITY);
    expect(await identityOf(directory)).toEqual(first);
    expect(await readdir(directory)).toEqual(['daemon.id']);
  });

  it.each([
    ['is junk', async (path: string) => await writeFile(path, Buffer.alloc(40, 0xe9))],
    ['is empty', async (path: string) => await writeFile(path, '')],
    ['is too long', async (path: string) => await writeFile(path, 'a'.repeat(10_000))],
    ['is a folder', async (path: string) => await mkdir(path)],
    ['is a link to itself', async (path: string) => await symlink(path, path)],
  ])('is replaced when it %s, and can be written to a lease', async (_what, damage) => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'daemon.id');
    const before = await identityOf(directory);
    await rm(path);
    await damage(path);
    const after = await identityOf(directory);
    expect(after.id).toMatch(IDENTITY);
    expect(after.id).not.toBe(before.id);
    expect(await identityOf(directory)).toEqual(after);
    expect(await readdir(directory)).toEqual(['daemon.id', 'daemon.id.damaged-2026-01-01T00-00-00.000Z']);
    const files = new LeaseFiles(await StoreRoot.open(directory));
    await files.create(1, after, false);
    expect((await files.newest())?.content?.holder_id).toBe(after.id);
    expect(await readFile(join(directory, 'lease', '1'))).toHaveLength(1024);
  });
});

const MODULE = resolve(import.meta.dirname, '../../../src/engine/database/data-lock.ts');

const NOW = new Date(Date.UTC(2026, 0, 1));

describe('the lock on the data folder', () => {
  it('has one holder, and names it', async () => {
    const directory = join(await temporaryDirectory(), 'made', 'by', 'the lock');
    const lock = acquireDataLock(directory, NOW);
    expect(() => acquireDataLock(directory, NOW)).toThrow(
      new RegExp(`in use by another daemon \\(pid ${process.pid} on`),
    );
    lock.release();
    lock.release();
    acquireDataLock(directory, NOW).release();
  });

  it('names a folder that cannot be used, and says what to do', async () => {
    const directory = join(await temporaryDirectory(), 'a-file');
    await writeFile(directory, '');
    const thrown = await waitForDataLock(directory, {
      clock: systemClock,
      signal: new AbortController().signal,
      onWait: () => undefined,
    }).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(DatabaseError);
    expect((thrown as Error).message).toMatch(
      /^the data folder .*a-file cannot be used: EEXIST.*; set data.dir to a folder that the daemon can write to$/,
    );
  });

  it('is free again when its holder is killed', async () => {
    const directory = await temporaryDirectory();
    const script = `const { acquireDataLock } = await import(${JSON.stringify(MODULE)});
      globalThis.lock = acquireDataLock(${JSON.stringify(directory)}, new Date());
      console.log('locked'); setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    await once(child.stdout, 'data');
    expect(() => acquireDataLock(directory, NOW)).toThrow(new RegExp(`pid ${child.pid} on`));
    child.kill('SIGKILL');
    await once(child, 'exit');
    acquireDataLock(directory, NOW).release();
  });

  it.each([
    ['junk', (path: string) => writeFile(path, Buffer.alloc(4000, 0xe9))],
    ['a folder', (path: string) => mkdir(join(path, 'x'), { recursive: true })],
    ['a named pipe', (path: string) => Promise.resolve(makePipe(path))],
    ['a link to nothing', (path: string) => symlink('/not/there', path)],
  ])('replaces %s in the place of its file', async (_what, make) => {
    const directory = await temporaryDirectory();
    await make(join(directory, 'daemon.lock'));
    const keptAt = join(directory, 'daemon.lock.damaged-2026-01-01T00-00-00.000Z');
    const lock = acquireDataLock(directory, NOW);
    expect(lock.keptAt).toBe(keptAt);
    await lstat(keptAt);
    expect(() => acquireDataLock(directory, NOW)).toThrow(DataLockHeldError);
    lock.release();
    const next = acquireDataLock(directory, NOW);
    expect(next.keptAt).toBeNull();
    next.release();
  });

  it('is held although its file was overwritten', async () => {
    const directory = await temporaryDirectory();
    const lock = acquireDataLock(directory, NOW);
    await writeFile(join(directory, 'daemon.lock'), Buffer.alloc(4000, 0xe9));
    expect(() => acquireDataLock(directory, NOW)).toThrow(DataLockHeldError);
    lock.release();
  });

  it('names its holder in a file, whatever had its place', async () => {
    const directory = await temporaryDirectory();
    makePipe(join(directory, 'daemon.pid'));
    acquireDataLock(directory, NOW).release();
    expect(await readFile(join(directory, 'daemon.pid'), 'utf8')).toContain(String(process.pid));
  });
});

function makePipe(path: string): void {
  execFileSync('mkfifo', [path]);
}

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
});

describe('a store without its thread', () => {
  async function counted() {
    const path = join(await temporaryDirectory(), 'work.db');
    const store = { count: (_of: string) => 1, add: (_of: string) => 2 };
    const { calls } = threadInProcess(store);
    return { path, caller: withoutThreadWhileEmpty<typeof store>(calls, path, { count: () => 0 }) };
  }

  it('answers as an empty one until its file is there, and then never again', async () => {
    const { path, caller } = await counted();
    expect([await caller.count('x'), await caller.add('x'), await caller.count('x')]).toEqual([0, 2, 0]);
    await writeFile(path, '');
    expect(await caller.count('x')).toBe(1);
    await rm(path);
    expect(await caller.count('x')).toBe(1);
  });

  it.each(['work.db', '.work.db.created'])('leaves the answer to it when %s cannot be read', async (name) => {
    const { path, caller } = await counted();
    const link = join(dirname(path), name);
    await symlink(link, link);
    expect(await caller.count('x')).toBe(1);
  });
});

/** Makes every single write stop after half of its bytes, as one on a nearly full volume can. */
async function shortenWrites(folder: string): Promise<void> {
  const handle = await open(join(folder, 'probe'), 'w');
  const prototype = Object.getPrototypeOf(handle) as {
    write: (this: FileHandle, bytes: Uint8Array) => Promise<unknown>;
  };
  await handle.close();
  const { write } = prototype;
  vi.spyOn(prototype, 'write').mockImplementation(async function shortWrite(this: FileHandle, bytes) {
    return await write.call(this, bytes.subarray(0, Math.ceil(bytes.length / 2)));
  });
}

describe('the copy of a file to import', () => {
  afterEach(() => vi.restoreAllMocks());

  it('has every byte, although a single write may write a part only', async () => {
    const folder = await temporaryDirectory();
    const bytes = randomBytes(100_000);
    await writeFile(join(folder, 'terms.csv'), bytes);
    await shortenWrites(folder);
    const copy = await copyForImport({
      root: folder,
      privateFolder: folder,
      file: 'terms.csv',
      maxBytes: 1_000_000,
      signal: new AbortController().signal,
    });
    const pieces: Uint8Array[] = [];
    for await (const piece of copy.read()) pieces.push(piece);
    await copy.close();
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    expect(copy.bytes).toBe(bytes.length);
  });
});
