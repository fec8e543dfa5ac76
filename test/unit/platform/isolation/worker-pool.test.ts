import { describe, expect, it } from 'vitest';

import { createWorkerPool } from '../../../../src/platform/isolation/worker-pool.ts';

const worker = (): object => ({});

describe('the workers of a run', () => {
  it('never work for two containers at a time', async () => {
    const pool = createWorkerPool([worker(), worker()]);
    let [working, most] = [0, 0];
    const use = async (): Promise<void> =>
      await pool.use(async () => {
        working += 1;
        most = Math.max(most, working);
        await Promise.resolve();
        working -= 1;
      });
    await Promise.all([use(), use(), use(), use(), use()]);
    expect(most).toBe(2);
  });

  it('begin the next container before the last one is stored', async () => {
    const pool = createWorkerPool([worker()]);
    const steps: string[] = [];
    const parseAndStore = async (name: string): Promise<void> => {
      await pool.use(async () => {
        steps.push(`parse ${name}`);
        await Promise.resolve();
      });
      steps.push(`store ${name}`);
    };
    await Promise.all([parseAndStore('a'), parseAndStore('b')]);
    expect(steps).toEqual(['parse a', 'parse b', 'store a', 'store b']);
  });

  it('stay usable after a container that failed', async () => {
    const pool = createWorkerPool([worker()]);
    const failing = pool.use(async () => await Promise.reject(new Error('disk full')));
    const next = pool.use(async () => await Promise.resolve('done'));
    await expect(failing).rejects.toThrow('disk full');
    expect(await next).toBe('done');
  });
});
