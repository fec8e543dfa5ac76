import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createIndexHolder, type IndexHolder } from '../../../../../src/daemon/parse/run/index-holder.ts';
import { indexRelease, openTestIndex, type ModelFile } from '../../../../support/index-release.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const FILE: ModelFile = { destination: 'a', leaves: [{ units: [['0', 'x']] }] };
const NEVER = new AbortController().signal;

/** The holder of a file in which the release r1 is indexed. */
async function filled(): Promise<{ path: string; holder: IndexHolder }> {
  const path = join(await temporaryDirectory(), 'index.db');
  const index = openTestIndex(path);
  indexRelease(index, 'r1', [FILE]);
  index.close();
  const holder = createIndexHolder(path);
  onTestFinished(() => {
    holder.close();
  });
  expect(releaseOf(holder)).toBe('r1');
  return { path, holder };
}

const releaseOf = (holder: IndexHolder): string | null => holder.read((index) => index.status().release_id);
/** The error of SQLite for a damaged page. */
const damage = (): never => {
  throw Object.assign(new Error('database disk image is malformed'), { errcode: 267 });
};

describe('the open parse index', () => {
  it('is set aside when a query finds damage, and an empty one takes its place', async () => {
    const { path, holder } = await filled();
    expect(() => holder.read(damage)).toThrow(
      expect.objectContaining({
        code: 'index_replaced',
        message: expect.stringMatching(/was damaged .*set aside; the next parse run fills the new index/),
      }),
    );
    expect(releaseOf(holder)).toBeNull();
    expect(holder.replacement()?.reason).toContain('malformed');
    const names = await readdir(dirname(path));
    expect(names.filter((name) => name.includes('damaged') && name.endsWith('Z'))).toHaveLength(1);
  });

  it('keeps only one damaged file', async () => {
    const { path, holder } = await filled();
    expect(() => holder.read(damage)).toThrow('damaged');
    expect(() => holder.read(damage)).toThrow('damaged');
    const names = await readdir(dirname(path));
    expect(names.filter((name) => name.includes('damaged') && name.endsWith('Z'))).toHaveLength(1);
  });

  it('says that it was replaced until a run has filled it', async () => {
    const { holder } = await filled();
    expect(() => holder.read(damage)).toThrow('damaged');
    const ask = (): number => holder.readFilled((index) => index.status().units);
    expect(ask).toThrow(expect.objectContaining({ code: 'index_empty' }));
    await holder.run((index) => Promise.resolve(indexRelease(index, 'r1', [FILE])), NEVER);
    expect(ask()).toBe(1);
  });

  it.each([
    [
      'deleted',
      async (path: string): Promise<void> => {
        await rm(path);
      },
    ],
    [
      'replaced',
      async (path: string): Promise<void> => {
        await writeFile(`${path}.new`, 'no database');
        await rename(`${path}.new`, path);
      },
    ],
  ])('notices that its file was %s', async (_, change) => {
    const { path, holder } = await filled();
    await change(path);
    expect(() => releaseOf(holder)).toThrow(expect.objectContaining({ code: 'index_replaced' }));
    expect(releaseOf(holder)).toBeNull();
    expect(
      await holder.run((index) => Promise.resolve(indexRelease(index, 'r1', [FILE])), NEVER),
    ).toMatchObject({
      parsed: 1,
    });
    expect(releaseOf(holder)).toBe('r1');
  });

  it('begins a run again with the new index when a query finds damage meanwhile', async () => {
    const { holder } = await filled();
    const seen: (string | null)[] = [];
    const done = await holder.run(async (index, signal) => {
      seen.push(index.status().release_id);
      if (seen.length === 1) {
        expect(() => holder.read(damage)).toThrow('damaged');
        expect(signal.aborted).toBe(true);
        await setImmediate();
        // The old file is closed: nothing is written to it.
        index.transaction(() => undefined);
      }
      return 'done';
    }, NEVER);
    expect(done).toBe('done');
    expect(seen).toEqual(['r1', null]);
  });

  it('ends a run with the reason when the index is lost again', async () => {
    const { holder } = await filled();
    let attempts = 0;
    const failing = holder.run(() => {
      attempts += 1;
      return damage();
    }, NEVER);
    await expect(failing).rejects.toMatchObject({
      code: 'index_replaced',
      message: expect.stringContaining('damaged'),
    });
    expect(attempts).toBe(2);
  });

  it('begins a run with the file that took the place of the old one', async () => {
    const { path, holder } = await filled();
    await rm(path);
    expect(await holder.run((index) => Promise.resolve(index.status().release_id), NEVER)).toBeNull();
  });

  it('passes other errors of a run on', async () => {
    const { holder } = await filled();
    await expect(holder.run(() => Promise.reject(new Error('other')), NEVER)).rejects.toThrow('other');
    expect(releaseOf(holder)).toBe('r1');
  });
});
