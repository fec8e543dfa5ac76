import { describe, expect, it } from 'vitest';
import { createLazyContract } from '../../../src/console/shell/lazy-contract.ts';
import { formsOf, outlineOf, renderConsoleContract } from '../../../src/contract/console/console-contract.ts';

const CONTRACT = renderConsoleContract();
const OUTLINE = outlineOf(CONTRACT);

describe('the contract of a page', () => {
  it('is loaded once, when it is first needed, and has everything', async () => {
    let loads = 0;
    const lazy = createLazyContract(OUTLINE, async () => {
      loads += 1;
      return await Promise.resolve(formsOf(CONTRACT));
    });
    expect([lazy.value(), loads]).toEqual([null, 0]);
    const [first, second] = await Promise.all([lazy.load(), lazy.load()]);
    expect(first).toEqual(CONTRACT);
    expect([second === first, lazy.value() === first, loads]).toEqual([true, true, 1]);
  });

  it('is asked for again after a load that failed', async () => {
    let loads = 0;
    const lazy = createLazyContract(OUTLINE, async () => {
      loads += 1;
      if (loads === 1) throw new Error('no answer');
      return await Promise.resolve(formsOf(CONTRACT));
    });
    await expect(lazy.load()).rejects.toThrow('no answer');
    expect(lazy.value()).toBeNull();
    expect(await lazy.load()).toEqual(CONTRACT);
  });
});
