/**
 * Prints how much of each folder of `src` the unit tests run, in lines. It is no gate: a line that ran is not a line that is
 * tested, but one that never ran is tested nowhere in the tier.
 *
 *   node scripts/coverage.ts [TEST FOLDER ...]
 *
 * Node loads the sources itself, so V8 reports the places of the files as they are, also those of child processes and threads.
 * Node cannot load TSX: the console and its tests are left out.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { lineCoverage, markRan, type ScriptCoverage } from './test/line-coverage.ts';
import { execute } from './test/execute.ts';

const root = join(import.meta.dirname, '..');
const LEFT_OUT = 'console';

async function main(): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-coverage-'));
  process.env['NODE_V8_COVERAGE'] = directory;
  const { code } = await execute('vitest', [
    'run',
    '--project=unit',
    '--reporter=dot',
    '--experimental.viteModuleRunner=false',
    `--exclude=test/unit/${LEFT_OUT}/**`,
    ...process.argv.slice(2),
  ]);
  const texts = new Map<string, string>();
  for (const path of await sources()) texts.set(path, await readFile(path, 'utf8'));
  const ran = await readReports(directory, texts);
  await rm(directory, { recursive: true });
  const modules = new Map<string, { lines: number; covered: number }>();
  for (const [path, text] of texts) {
    const found = lineCoverage(text, ran.get(path) ?? new Uint8Array(text.length));
    const [top = '', room = ''] = relative(join(root, 'src'), path).split('/');
    const name = room.endsWith('.ts') ? top : `${top}/${room}`;
    const module = modules.get(name) ?? { lines: 0, covered: 0 };
    modules.set(name, {
      lines: module.lines + found.lines,
      covered: module.covered + found.covered,
    });
  }
  console.log(`\n${'module'.padEnd(32)}   lines  covered`);
  for (const [name, { lines, covered }] of [...modules].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const share = `${((100 * covered) / Math.max(lines, 1)).toFixed(1)} %`;
    console.log(`${name.padEnd(32)} ${String(lines).padStart(7)} ${share.padStart(8)}`);
  }
  return code;
}

/** The characters of each source that ran, by path. There is a report for each test file: they are read one by one. */
async function readReports(
  directory: string,
  texts: ReadonlyMap<string, string>,
): Promise<Map<string, Uint8Array>> {
  const ran = new Map([...texts].map(([path, text]) => [path, new Uint8Array(text.length)]));
  for (const name of await readdir(directory)) {
    const { result } = JSON.parse(await readFile(join(directory, name), 'utf8')) as {
      readonly result: readonly ScriptCoverage[];
    };
    for (const script of result) {
      const marks = script.url.startsWith('file:') ? ran.get(fileURLToPath(script.url)) : undefined;
      if (marks !== undefined) markRan(marks, script);
    }
  }
  return ran;
}

async function sources(): Promise<string[]> {
  const names = await readdir(join(root, 'src'), { recursive: true });
  return names
    .filter((name) => name.endsWith('.ts') && !name.startsWith(`${LEFT_OUT}/`))
    .map((name) => join(root, 'src', name));
}

process.exitCode = await main();
