import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';

const MODULE = resolve(import.meta.dirname, '../../../src/platform/young-generation.ts');

/** Bytes of the space for new objects after many of them were made, in a process of its own. */
function youngBytes(prepare: string): number {
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    ${prepare}
    const kept = [];
    for (let i = 0; i < 5_000_000; i += 1) kept[i % 5000] = { i };
    console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size);`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  return Number(stdout);
}

it('keeps the space for new objects from growing', () => {
  const small = youngBytes(`(await import(${JSON.stringify(MODULE)})).keepYoungGenerationSmall();`);
  expect(small).toBeGreaterThan(0);
  expect(small).toBeLessThan(youngBytes('') / 2);
});
