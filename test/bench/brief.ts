import { runCases } from './bytes.ts';
import { BYTE_CASES } from './bytes/byte-case.ts';
import type { BenchModule, BenchOptions, BenchRow } from './bench-row.ts';

/** What people ask for first: 1 KB, 16 KB and 100 MB of one file, and a range of it. */
const CASES = new Set(['1 KB GET', '16 KB GET', '100 MB from the cache', '64 KB range of 100 MB, hot block']);

/** Benches that are short at their full size. */
const MODULES: ReadonlyArray<() => Promise<BenchModule>> = [
  async () => await import('./hashing.ts'),
  async () => await import('./switch.ts'),
  async () => await import('./workers.ts'),
];

/** The rows that people ask for, in about three minutes. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const cases = BYTE_CASES.filter(({ name }) => CASES.has(name)).map((each) => ({
    ...each,
    withOthers: false,
  }));
  // First: it takes longer to start a program from a process that has grown, and that would flatter the ratios to the smallest one.
  const rows = await (await import('./starts.ts')).run(options);
  rows.push(...(await runCases(options, cases)));
  for (const load of MODULES) rows.push(...(await (await load()).run(options)));
  return rows;
}
