/**
 * Writes docs/reference from the contract, or with `--check` says what differs and exits with 1.
 *
 *   node scripts/reference-docs.ts [--check]
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { renderConfigurationPage } from './reference/configuration.ts';
import { renderProtocol } from './reference/protocol.ts';
import { renderSchemas } from './reference/schemas.ts';
import { renderActions, renderOperations, renderProblems, renderReasons } from './reference/tables.ts';
import { renderOpenApiYaml } from '../src/contract/openapi.ts';

const ROOT = resolve(import.meta.dirname, '..');
const REFERENCE = join(ROOT, 'docs/reference');

function renderAll(): Map<string, string> {
  const protocol = readFileSync(join(REFERENCE, 'daemon-protocol.md'), 'utf8');
  return new Map([
    ['openapi.yaml', renderOpenApiYaml()],
    ['problems.md', renderProblems()],
    ['reasons.md', renderReasons()],
    ['operations.md', renderOperations()],
    ['actions.md', renderActions()],
    ['configuration.md', renderConfigurationPage()],
    ['daemon-protocol.md', renderProtocol(protocol)],
    ...renderSchemas(),
  ]);
}

/** Formats the files as the repository is formatted, so that the format check and this script agree. */
function format(files: ReadonlyMap<string, string>): Map<string, string> {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-reference-'));
  try {
    for (const [name, text] of files) write(join(directory, name), text);
    const binary = join(ROOT, 'node_modules/.bin/oxfmt');
    const run = spawnSync(binary, ['-c', join(ROOT, '.oxfmtrc.json'), '.'], {
      cwd: directory,
      encoding: 'utf8',
    });
    if (run.status !== 0) throw new Error(`oxfmt failed: ${run.error?.message ?? run.stderr}`);
    return new Map([...files.keys()].map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function main(check: boolean): number {
  const files = format(renderAll());
  const orphans = globSync('schemas/**/*.json', { cwd: REFERENCE }).filter((name) => !files.has(name));
  const stale = [...files].filter(([name, text]) => {
    const path = join(REFERENCE, name);
    return !existsSync(path) || readFileSync(path, 'utf8') !== text;
  });
  if (check) {
    for (const [name] of stale) console.error(`docs/reference/${name} differs from the contract`);
    for (const name of orphans) console.error(`docs/reference/${name} is not in the contract any more`);
    if (stale.length + orphans.length > 0) console.error('run: make docs');
    return stale.length + orphans.length > 0 ? 1 : 0;
  }
  for (const [name, text] of stale) write(join(REFERENCE, name), text);
  for (const name of orphans) rmSync(join(REFERENCE, name));
  console.log(`${files.size} files, ${stale.length} written, ${orphans.length} removed`);
  return 0;
}

process.exitCode = main(process.argv.includes('--check'));
