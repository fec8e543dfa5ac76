import { describe, expect, it, onTestFinished } from 'vitest';
import type { ParseWorker } from '../../../../../src/daemon/parse/process/parse-worker.ts';
import { compileRules } from '../../../../../src/daemon/parse/rules/compile-rules.ts';
import { rulesDigest } from '../../../../../src/daemon/parse/rules/load-rules.ts';
import { indexRelease } from '../../../../../src/daemon/parse/run/index-release.ts';
import { blake3Hex } from '../../../../../src/platform/hashing/blake3.ts';
import { systemClock } from '../../../../../src/platform/process/clock.ts';
import { openTestIndex, unitsOf } from '../../../../support/index-release.ts';
import { loadedRules } from '../../../../support/parse-bytes.ts';

const FAILURE = new Error('the disk is full');

describe('a run', () => {
  it('frees what earlier runs left before it stores anything', async () => {
    const index = openTestIndex();
    onTestFinished(() => {
      index.close();
    });
    const loaded = loadedRules();
    /** A run that stores some units and fails; returns the steps that the index needed to free rows before it stored one. */
    const failingRun = async (releaseId: string): Promise<number> => {
      let freed = 0;
      let freedBefore = 0;
      const worker: ParseWorker = {
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
          { index: counted, workers: [worker], clock: systemClock, checkSpace: () => undefined },
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
