import { describe, expect, it } from 'vitest';
import { destinationKeys } from '../../../../../src/daemon/parse/container/destination-keys.ts';
import type { ParsedUnit } from '../../../../../src/daemon/parse/container/parsed-container.ts';
import { parseFiles } from '../../../../../src/daemon/parse/offline/parse-files.ts';
import type { ParseWorker } from '../../../../../src/daemon/parse/process/parse-worker.ts';

const NEVER = new AbortController().signal;
const OUTCOME = { status: 'parsed', format: 'json', issues: [], skipped: {} } as const;
const unit = (sourceText: string): ParsedUnit => ({ sourceText }) as ParsedUnit;
const filesOf = (...names: string[]) => names.map((name) => ({ path: name, destination: name }));

describe('parsing files', () => {
  it('hands over containers in their order, also when a later one is ready first', async () => {
    const seen: string[] = [];
    const second = Promise.withResolvers<void>();
    const worker: ParseWorker = {
      parse: async ({ destination }, onUnits) => {
        if (destination === 'b') second.resolve();
        // The first container has its units after the second one has offered its own.
        if (destination === 'a') await second.promise;
        await onUnits([unit(`${destination}1`)]);
        await onUnits([unit(`${destination}2`)]);
        return OUTCOME;
      },
      close: () => undefined,
    };
    const files = filesOf('a', 'b', 'c');
    const keys = destinationKeys(() => ['a', 'b', 'c'], []);
    await parseFiles(
      { files, keys, workers: [worker, worker] },
      {
        units: async (_destination, units) => void seen.push(...units.map(({ sourceText }) => sourceText)),
        outcome: async (destination) => void seen.push(`end of ${destination}`),
      },
      NEVER,
    );
    expect(seen).toEqual(['a1', 'a2', 'end of a', 'b1', 'b2', 'end of b', 'c1', 'c2', 'end of c']);
  });

  it('ends with the error of the output, without waiting for the containers behind it', async () => {
    const worker: ParseWorker = {
      parse: async (_job, onUnits, signal) => {
        await onUnits([unit('x')]);
        signal.throwIfAborted();
        return OUTCOME;
      },
      close: () => undefined,
    };
    const sink = {
      units: async (destination: string): Promise<void> => {
        throw new Error(`disk full at ${destination}`);
      },
      outcome: async (): Promise<void> => undefined,
    };
    const keys = destinationKeys(() => ['a', 'b'], []);
    const run = parseFiles({ files: filesOf('a', 'b'), keys, workers: [worker, worker] }, sink, NEVER);
    await expect(run).rejects.toThrow('disk full at a');
  });

  it('names containers without their hashes, and says which ones share a name', async () => {
    const names = ['x_0f3cab12e9d84c7b.b', 'y_0f3cab12e9d84c7b.b', 'y_1f3cab12e9d84c7b.b'];
    const given: string[] = [];
    const codes: string[][] = [];
    const worker: ParseWorker = {
      parse: async ({ destinationKey }) => {
        given.push(destinationKey);
        return OUTCOME;
      },
      close: () => undefined,
    };
    await parseFiles(
      {
        files: filesOf(...names),
        keys: destinationKeys(() => names, []),
        workers: [worker],
      },
      {
        units: async () => undefined,
        outcome: async (_destination, { issues }) => void codes.push(issues.map(({ code }) => code)),
      },
      NEVER,
    );
    expect(given).toEqual(['x_*.b', names[1], names[2]]);
    expect(codes).toEqual([[], ['duplicate_unit_key'], ['duplicate_unit_key']]);
  });
});
