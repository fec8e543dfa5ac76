import { describe, expect, it, onTestFinished } from 'vitest';
import type { ParsedUnit } from '../../../../../src/daemon/parse/container/parsed-container.ts';
import type { ParseIndex } from '../../../../../src/daemon/parse/index/parse-index.ts';
import { createContainerStore } from '../../../../../src/daemon/parse/run/container-store.ts';
import {
  allUnits,
  finishSteps,
  openTestIndex,
  PARSED,
  releaseOf,
  unitsOf,
  type ModelFile,
} from '../../../../support/index-release.ts';

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
  const counting: Pick<ParseIndex, 'append' | 'finish' | 'start' | 'transaction'> = {
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

describe('the store of a container', () => {
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
