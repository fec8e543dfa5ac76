import { describe, expect, it } from 'vitest';
import { openConsole } from '../../support/console-page.ts';
import { startUnitsWorld } from '../../support/console-world.ts';
import { campaignSize } from '../../support/long.ts';
import { measureTasks, pageMemory } from '../../support/page-figures.ts';
import { scroll } from '../../support/scroll-bar.ts';
import { hasTool } from '../../support/tools.ts';

const MIB = 1024 * 1024;
/** Units of one translation task. A million of them take minutes to index. */
const UNITS = campaignSize(50_000, 1_000_000);

describe.skipIf(!hasTool('chromium'))('a translation task of many units', () => {
  it('scrolls from its first to its last unit without a long task, in bounded memory', async () => {
    const world = await startUnitsWorld({ units: UNITS, containers: 1 });
    const [task] = (await world.read('translation.tasks', { limit: '1' })).items;
    const { page, troubles } = await openConsole(world, `#/translate-task/${task?.task_id}`, {
      person: 'translate',
    });
    const list = page.getByRole('listbox', { name: 'Units' });
    await list.getByText('第0話').waitFor();
    const { longestTaskMs, tasks } = await measureTasks(page, async () => {
      // As somebody drags the bar to and fro, and then slowly through a part of the list.
      await scroll(
        list,
        Array.from({ length: 100 }, (_, index) => ((index * 37) % 100) / 100),
      );
      await scroll(
        list,
        Array.from({ length: 200 }, (_, index) => 0.4 + index / 20_000),
      );
      await scroll(list, [1]);
      await list.getByText(`第${UNITS - 1}話`).waitFor();
    });
    const memory = await pageMemory(page);
    console.log(
      `${UNITS} units: longest task ${longestTaskMs.toFixed(1)} ms of ${tasks}, memory ${(memory / MIB).toFixed(0)} MiB`,
    );
    expect(tasks).toBeGreaterThan(300);
    expect(longestTaskMs).toBeLessThan(100);
    expect(memory).toBeLessThan(150 * MIB);
    // The last unit is as real as the first one: it opens with its text.
    await list.focus();
    await page.keyboard.press('End');
    await expect.poll(() => page.url()).toContain('unit=tu1_');
    await page
      .getByRole('main')
      .getByText(`第${UNITS - 1}話`)
      .first()
      .waitFor();
    expect(troubles).toEqual([]);
  });
});
