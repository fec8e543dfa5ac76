/**
 * Measures Slipway against peers in the same run and prints a table; `--json FILE` also writes the numbers.
 *
 *   node test/bench/main.ts [--rounds 7] [--only bytes,connections,hashing,manifest,parse-release,parse-index,parse,text-formats,unity-patch,localized,translate,translation-scale,memory,memory-files,glossary,sync,edges,bundles,scale,operator,image,starts,first-start,switch,workers,rest,growth,edge-copy,brief] [--quick] [--json FILE]
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import type { BenchModule, BenchRow } from './bench-row.ts';
import { watchNoise } from './noise.ts';

const MODULES: Readonly<Record<string, () => Promise<BenchModule>>> = {
  bytes: async () => await import('./bytes.ts'),
  connections: async () => await import('./connections.ts'),
  hashing: async () => await import('./hashing.ts'),
  manifest: async () => await import('./manifest.ts'),
  'parse-release': async () => await import('./parse-release.ts'),
  'parse-index': async () => await import('./parse-index.ts'),
  parse: async () => await import('./parse.ts'),
  'text-formats': async () => await import('./text-formats.ts'),
  'unity-patch': async () => await import('./unity-patch.ts'),
  localized: async () => await import('./localized.ts'),
  translate: async () => await import('./translate.ts'),
  'translation-scale': async () => await import('./translation-scale.ts'),
  memory: async () => await import('./memory.ts'),
  'memory-files': async () => await import('./memory-files.ts'),
  glossary: async () => await import('./glossary.ts'),
  sync: async () => await import('./sync.ts'),
  edges: async () => await import('./edges.ts'),
  bundles: async () => await import('./bundles.ts'),
  scale: async () => await import('./scale.ts'),
  operator: async () => await import('./operator.ts'),
  image: async () => await import('./image.ts'),
  starts: async () => await import('./starts.ts'),
  'first-start': async () => await import('./first-start.ts'),
  switch: async () => await import('./switch.ts'),
  workers: async () => await import('./workers.ts'),
  rest: async () => await import('./rest.ts'),
  growth: async () => await import('./growth.ts'),
  'edge-copy': async () => await import('./edge-copy.ts'),
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string' },
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'string', default: 'bench-results/bench.json' },
    },
  });
  const names = values.only === undefined ? Object.keys(MODULES) : values.only.split(',');
  const modules: typeof MODULES = { ...MODULES, brief: async () => await import('./brief.ts') };
  const unknown = names.filter((name) => !Object.hasOwn(modules, name));
  if (unknown.length > 0) {
    console.error(`no bench ${unknown.join(', ')}; there are ${Object.keys(modules).join(', ')}`);
    return 2;
  }
  // One round proves that the bench works.
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 7));
  const workDirectory = await mkdtemp(join(tmpdir(), 'slipway-bench-'));
  const rows: BenchRow[] = [];
  const noise = watchNoise();
  try {
    for (const name of names) {
      console.error(`-- ${name}`);
      const module = await modules[name]?.();
      if (module !== undefined) {
        const options = { rounds, quick: values.quick, workDirectory };
        for (const row of await module.run(options)) {
          rows.push(row);
          console.error(renderRow(row));
        }
      }
    }
  } finally {
    await rm(workDirectory, { recursive: true, force: true });
  }
  const machine = `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`;
  console.log(`\n${machine}\nforeign CPU and steal during the run: ${noise.summary()}\n`);
  console.log(renderTable(rows));
  const file = resolve(values.json);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify({ machine, noise: noise.summary(), rows }, null, 2)}\n`);
  console.log(`\nwritten to ${values.json}`);
  return rows.some((row) => row.pass === false) ? 1 : 0;
}

function renderRow(row: BenchRow): string {
  return `${row.case}: ${format(row.value)} ${row.unit} (target ${row.target}) ${verdictOf(row, 'MISSED')}`;
}

function verdictOf({ pass, target }: BenchRow, missed: string): string {
  if (pass === null) return target === 'none' ? '' : 'inconclusive';
  return pass ? 'ok' : missed;
}

function renderTable(rows: readonly BenchRow[]): string {
  const lines = [
    '| case | median [min to max] | unit | target | | note |',
    '| --- | --- | --- | --- | --- | --- |',
  ];
  for (const row of rows) {
    const spread = `${format(row.value)} [${format(Math.min(...row.rounds))} to ${format(Math.max(...row.rounds))}]`;
    lines.push(
      `| ${row.case} | ${spread} | ${row.unit} | ${row.target} | ${verdictOf(row, '**missed**')} | ${row.note} |`,
    );
  }
  return lines.join('\n');
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

process.exitCode = await main();
