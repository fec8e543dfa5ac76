/**
 * Writes what of charts/slipway is generated from scripts/chart/values-schema.ts: values.yaml, values.schema.json and the table of
 * the README. With `--check` it says what differs and exits with 1.
 *
 *   node scripts/chart.ts [--check]
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { renderValuesSchema, renderValuesYaml, valueRows } from './chart/values-files.ts';
import { table } from './reference/markdown.ts';

const CHART = resolve(import.meta.dirname, '../charts/slipway');
const TABLE = /(<!-- values -->\n)[\s\S]*?(<!-- end of values -->)/;

function renderReadme(): string {
  const text = readFileSync(join(CHART, 'README.md'), 'utf8');
  if (!TABLE.test(text)) throw new Error('charts/slipway/README.md has lost the marks of its table');
  const rows = table(['Value', 'Default', 'Description'], valueRows());
  return text.replace(TABLE, (_, begin: string, end: string) => `${begin}\n${rows}\n\n${end}`);
}

function main(check: boolean): number {
  const files = [
    ['values.yaml', renderValuesYaml()],
    ['values.schema.json', renderValuesSchema()],
    ['README.md', renderReadme()],
  ] as const;
  const stale = files.filter(([name, text]) => {
    const path = join(CHART, name);
    return !existsSync(path) || readFileSync(path, 'utf8') !== text;
  });
  if (check) {
    for (const [name] of stale) console.error(`charts/slipway/${name} differs from its sources`);
    if (stale.length > 0) console.error('run: make docs');
    return stale.length > 0 ? 1 : 0;
  }
  for (const [name, text] of stale) writeFileSync(join(CHART, name), text);
  console.log(`charts/slipway: ${files.length} files, ${stale.length} written`);
  return 0;
}

process.exitCode = main(process.argv.includes('--check'));
