/**
 * Compares the figures of this checkout with those of another commit, in alternating rounds.
 *
 *   node scripts/bench-compare.ts REVISION [--only brief] [--rounds 5]
 *
 * REVISION must have the bench.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { median } from '../test/bench/statistics.ts';

interface Row {
  readonly case: string;
  readonly value: number;
  readonly unit: string;
}

const ROOT = resolve(import.meta.dirname, '..');

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      only: { type: 'string', default: 'brief' },
      rounds: { type: 'string', default: '5' },
    },
    allowPositionals: true,
  });
  const [revision] = positionals;
  const rounds = Number(values.rounds);
  if (revision === undefined || !Number.isSafeInteger(rounds) || rounds < 1) {
    console.error('usage: node scripts/bench-compare.ts REVISION [--only brief] [--rounds 5]');
    console.error('REVISION is a commit that has test/bench');
    return 2;
  }
  const directory = await mkdtemp(join(tmpdir(), 'slipway-compare-'));
  const before = join(directory, 'before');
  try {
    execFileSync('git', ['worktree', 'add', '--quiet', '--detach', before, revision], { cwd: ROOT });
    return await compare(revision, before, directory, { only: values.only, rounds });
  } finally {
    // A revision that git does not know has no worktree.
    if (existsSync(before)) execFileSync('git', ['worktree', 'remove', '--force', before], { cwd: ROOT });
    await rm(directory, { recursive: true, force: true });
  }
}

async function compare(
  revision: string,
  before: string,
  directory: string,
  { only, rounds }: { readonly only: string; readonly rounds: number },
): Promise<number> {
  // The packages of this checkout: a comparison is about our own code.
  for (const name of ['node_modules', '.tools']) {
    if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(before, name));
  }
  const sides = [before, ROOT];
  const measured: Array<Map<string, Row[]>> = [new Map(), new Map()];
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? [0, 1] : [1, 0]) {
      console.error(`-- round ${round + 1} of ${rounds}: ${side === 0 ? revision : 'this checkout'}`);
      for (const row of await measure(sides[side] ?? ROOT, only, join(directory, 'rows.json'))) {
        const rows = measured[side]?.get(row.case) ?? [];
        measured[side]?.set(row.case, [...rows, row]);
      }
    }
  }
  console.log(renderComparison(revision, measured[0] ?? new Map(), measured[1] ?? new Map()));
  return 0;
}

async function measure(checkout: string, only: string, file: string): Promise<readonly Row[]> {
  try {
    execFileSync(
      process.execPath,
      ['test/bench/main.ts', '--only', only, '--rounds', '1', '--json', file],
      // Its compile cache would hold modules of the other side.
      {
        cwd: checkout,
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, NODE_COMPILE_CACHE: '' },
      },
    );
  } catch (error) {
    // A missed target is no failure here.
    if ((error as { status?: number }).status !== 1 || !existsSync(file)) throw error;
  }
  const { rows } = JSON.parse(await readFile(file, 'utf8')) as { readonly rows: readonly Row[] };
  await rm(file);
  return rows;
}

function renderComparison(
  revision: string,
  before: ReadonlyMap<string, readonly Row[]>,
  after: ReadonlyMap<string, readonly Row[]>,
): string {
  const lines = [
    `| case | ${revision} | this checkout | unit | change | spread before |`,
    '| --- | --- | --- | --- | --- | --- |',
  ];
  for (const [name, rows] of after) {
    const old = (before.get(name) ?? []).map(({ value }) => value);
    const now = median(rows.map(({ value }) => value));
    const [least, most] = [Math.min(...old), Math.max(...old)];
    const cells =
      old.length === 0
        ? ['-', now.toFixed(2), rows[0]?.unit, 'new', '-']
        : [
            median(old).toFixed(2),
            now.toFixed(2),
            rows[0]?.unit,
            `${(100 * (now / median(old) - 1)).toFixed(1)} %`,
            `${least.toFixed(2)} to ${most.toFixed(2)}`,
          ];
    lines.push(`| ${[name, ...cells].join(' | ')} |`);
  }
  return lines.join('\n');
}

process.exitCode = await main();
