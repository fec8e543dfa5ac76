import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';

const MODULE = JSON.stringify(
  resolve(import.meta.dirname, '../../../../src/platform/process/process-memory.ts'),
);
const KEEP_SMALL = `(await import(${MODULE})).keepProcessSmall();`;

function run(script: string, options: readonly string[] = []): string {
  return spawnSync(process.execPath, [...options, '--input-type=module', '-e', script], { encoding: 'utf8' })
    .stdout;
}

/** Bytes of the space for new objects after many of them were made, in a process of its own. */
function youngBytes(prepare: string): number {
  return Number(
    run(`
    import { getHeapSpaceStatistics } from 'node:v8';
    ${prepare}
    const kept = [];
    for (let i = 0; i < 5_000_000; i += 1) kept[i % 5000] = { i };
    console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size);`),
  );
}

it('keeps the space for new objects from growing', () => {
  const small = youngBytes(KEEP_SMALL);
  expect(small).toBeGreaterThan(0);
  expect(small).toBeLessThan(youngBytes('') / 2);
});

it('lets the heap grow more between two collections while asked to, by however many', () => {
  const collections = (prepare: string): number =>
    Number(
      run(`
      import { GCProfiler } from 'node:v8';
      const memory = await import(${MODULE});
      memory.keepProcessSmall();
      ${prepare}
      const profiler = new GCProfiler();
      profiler.start();
      const kept = [];
      for (let i = 0; i < 3_000_000; i += 1) kept[i % 300_000] = { i };
      const { statistics } = profiler.stop();
      console.log(statistics.filter(({ gcType }) => gcType === 'MarkSweepCompact').length);`),
    );
  const ended = 'const ends = [memory.collectHeapLess(), memory.collectHeapLess()]; ends[0](); ends[0](); ';
  const often = collections(`${ended} ends[1]();`);
  expect(often).toBeGreaterThan(collections(ended));
});

it('compiles nothing to machine code where size counts more than speed', () => {
  const compiled = (prepare: string): boolean =>
    run(
      `
      const memory = await import(${MODULE});
      ${prepare}
      const sum = (n) => { let all = 0; for (let i = 0; i < n; i += 1) all += i; return all; };
      for (let i = 0; i < 2000; i += 1) sum(1000);`,
      ['--trace-opt'],
    ).includes('completed optimizing');
  expect(compiled('')).toBe(true);
  expect(compiled('memory.preferSizeToSpeed();')).toBe(false);
});

it('keeps the WHATWG client from being loaded with node:http, and the globals as they are', () => {
  const loaded = (prepare: string): unknown =>
    JSON.parse(
      run(`
      ${prepare}
      const { createServer, request } = await import('node:http');
      const client = process.moduleLoadList.some((name) => name.includes('undici'));
      console.log(JSON.stringify([client, typeof createServer, typeof request, typeof WebSocket, typeof fetch]));`),
    );
  const kinds = ['function', 'function', 'function', 'function'];
  // The first would change if Node stopped doing so, and the whole measure could go.
  expect(loaded('')).toEqual([true, ...kinds]);
  expect(loaded(KEEP_SMALL)).toEqual([false, ...kinds]);
});
