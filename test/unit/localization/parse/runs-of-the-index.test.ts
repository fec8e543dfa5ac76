import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ParsedUnit } from '../../../../src/localization/parse/container/parsed-container.ts';
import type { ParseIndex } from '../../../../src/localization/parse/index/parse-index.ts';
import type { ContainerParser } from '../../../../src/localization/parse/process/container-parser.ts';
import { compileRules } from '../../../../src/localization/parse/rules/compile-rules.ts';
import { rulesDigest } from '../../../../src/localization/parse/rules/load-rules.ts';
import { createContainerStore, indexRelease } from '../../../../src/localization/parse/run/index-release.ts';
import { IndexHolder, checkSpace } from '../../../../src/localization/parse/run/index-holder.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import {
  allUnits,
  finishSteps,
  indexRelease as indexSample,
  openTestIndex,
  PARSED,
  releaseOf,
  unitsOf,
  type ModelFile,
} from '../../../support/index-release.ts';
import { openIndexInTest } from '../../../support/open-index.ts';
import { loadedRules } from '../../../support/parse-bytes.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const FAILURE = new Error('the disk is full');

describe('a run', () => {
  it('frees what earlier runs left before it stores anything', async () => {
    const index = openIndexInTest();
    const loaded = loadedRules();
    /** A run that stores some units and fails; returns the steps that the index needed to free rows before it stored one. */
    const failingRun = async (releaseId: string): Promise<number> => {
      let freed = 0;
      let freedBefore = 0;
      const worker: ContainerParser = {
        parse: async ({ destination }, onUnits) => {
          freedBefore = freed;
          const texts = Array.from({ length: 10 }, (_, i) => [`${i}`, `${releaseId} ${i}`] as const);
          for (let batch = 0; batch < 2; batch += 1) {
            await onUnits(unitsOf({ destination, leaves: [{ units: texts }] }));
          }
          throw FAILURE;
        },
        close: () => undefined,
      };
      const counted = {
        ...index,
        reclaim: function* reclaim() {
          for (const _ of index.reclaim()) {
            freed += 1;
            yield;
          }
        },
      };
      const files = {
        length: 1,
        at: () => ({ destination: 'a', blake3: blake3Hex(Buffer.from(releaseId)), size: 7, path: '/none' }),
      };
      await expect(
        indexRelease(
          { index: counted, parser: worker, processes: 1, checkSpace: () => undefined },
          {
            releaseId,
            files,
            stableNames: [],
            rules: compileRules(loaded),
            rulesDigest: rulesDigest(loaded),
            full: false,
          },
          { containers: 0, total: 0, units: 0, phase: 'parsing' },
          new AbortController().signal,
        ),
      ).rejects.toBe(FAILURE);
      return freedBefore;
    };
    expect(await failingRun('r1')).toBe(0);
    expect(await failingRun('r2')).toBeGreaterThan(2);
    expect(await failingRun('r3')).toBeGreaterThan(2);
  });
});

const NEVER = new AbortController().signal;

/** The error of SQLite for a damaged page. */
const damage = (): never => {
  throw Object.assign(new Error('database disk image is malformed'), { errcode: 267 });
};

describe('the open parse index', () => {
  const FILE: ModelFile = { destination: 'a', leaves: [{ units: [['0', 'x']] }] };

  /** The holder of a file in which the release r1 is indexed. */
  async function filled(): Promise<{ path: string; holder: IndexHolder }> {
    const path = join(await temporaryDirectory(), 'index.db');
    const index = openTestIndex(path);
    indexSample(index, 'r1', [FILE]);
    index.close();
    const holder = new IndexHolder(path);
    onTestFinished(() => {
      holder.close();
    });
    expect(releaseOf(holder)).toBe('r1');
    return { path, holder };
  }

  const releaseOf = (holder: IndexHolder): string | null => holder.read((index) => index.status().release_id);

  it('is set aside when a query finds damage, and an empty one takes its place', async () => {
    const { path, holder } = await filled();
    expect(() => holder.read(damage)).toThrow(
      expect.objectContaining({
        code: 'index_replaced',
        message: expect.stringMatching(/was damaged .*set aside; the next parse run fills the new index/),
      }),
    );
    expect(releaseOf(holder)).toBeNull();
    expect(holder.replacement?.reason).toContain('malformed');
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
    await holder.run((index) => Promise.resolve(indexSample(index, 'r1', [FILE])), NEVER);
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
      await holder.run((index) => Promise.resolve(indexSample(index, 'r1', [FILE])), NEVER),
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

describe('the store of a container', () => {
  const FILE: ModelFile = {
    destination: 'a',
    leaves: [
      {
        units: [
          ['1', 'い'],
          ['2', 'ろ'],
          ['3', 'は'],
        ],
      },
    ],
  };

  /** A release of one file, and an index that counts its transactions. */
  function begin() {
    const index = openTestIndex();
    onTestFinished(() => index.close());
    const { indexId } = index.begin(releaseOf('r1', [FILE]));
    let transactions = 0;
    const counting: ParseIndex = {
      ...index,
      transaction: (section) => {
        transactions += 1;
        return index.transaction(section);
      },
    };
    const units = unitsOf(FILE);
    const part = (from: number, to?: number): ParsedUnit[] => units.slice(from, to);
    return {
      store: createContainerStore(counting, indexId, 0),
      part,
      transactions: () => transactions,
      texts: () => {
        finishSteps(index.complete(indexId));
        return allUnits(index).map(({ source_text }) => source_text);
      },
    };
  }

  it('takes one transaction for a container with one batch of units', () => {
    const { store, part, transactions, texts } = begin();
    store.add(part(0));
    expect(transactions()).toBe(0);
    store.finish([], PARSED);
    expect(transactions()).toBe(1);
    expect(texts()).toEqual(['い', 'ろ', 'は']);
  });

  it('holds one batch at most', () => {
    const { store, part, transactions, texts } = begin();
    store.add(part(0, 1));
    store.add(part(1, 2));
    store.add(part(2));
    expect(transactions()).toBe(2);
    store.finish([], PARSED);
    expect(texts()).toEqual(['い', 'ろ', 'は']);
  });

  it('stores a container without units', () => {
    const { store, texts } = begin();
    store.finish([], PARSED);
    expect(texts()).toEqual([]);
  });

  it.each([1, 2])('drops all units of a container that failed after %i batches', (batches) => {
    const { store, part, texts } = begin();
    for (let batch = 0; batch < batches; batch += 1) store.add(part(batch, batch + 1));
    store.clear();
    store.finish([], { ...PARSED, parseStatus: 'failed' });
    expect(texts()).toEqual([]);
  });
});

const MEBIBYTE = 1024 * 1024;

describe('the space for the index', () => {
  it.each([
    [7.9, false],
    [8, true],
  ])('with %d MiB free the index may grow: %s', (free, isEnough) => {
    const check = (): void =>
      checkSpace('/data', (path) => {
        expect(path).toBe('/data');
        return { bavail: (free * MEBIBYTE) / 4096, bsize: 4096 };
      });
    if (isEnough) expect(check).not.toThrow();
    else
      expect(check).toThrow(
        expect.objectContaining({ code: 'data_full', message: expect.stringMatching(/\/data.*free space/) }),
      );
  });
});
