/**
 * Writes docs/reference and the chart's CustomResourceDefinition from the contract, or with `--check` says what differs and exits with 1.
 *
 *   node scripts/reference-docs.ts [--check]
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { renderCatalogs } from './reference/catalogs.ts';
import { renderConfigurationPage } from './reference/configuration.ts';
import { renderCtlPage } from './reference/ctl.ts';
import { renderDependencies } from './reference/dependencies.ts';
import { renderOperationStatuses } from './reference/operation-statuses.ts';
import { renderExchangeFormats } from './reference/exchange-formats.ts';
import { renderGlossary } from './reference/glossary.ts';
import { renderMetrics } from './reference/metrics.ts';
import { renderParseErrors } from './reference/parse-errors.ts';
import { renderParseRules } from './reference/parse-rules.ts';
import { renderProtocol } from './reference/protocol.ts';
import { renderReleaseChannelPage } from './reference/release-channel.ts';
import { renderSchemas } from './reference/schemas.ts';
import { renderTranslationStates } from './reference/translation-states.ts';
import { renderTranslationChecks } from './reference/translation-checks.ts';
import { renderActions, renderOperations, renderProblems, renderReasons } from './reference/tables.ts';
import { renderReleaseChannelDefinition } from './reference/custom-resource-definition.ts';
import { renderOpenApiYaml } from './reference/openapi.ts';

const ROOT = resolve(import.meta.dirname, '..');
const REFERENCE = join(ROOT, 'docs/reference');
/** A template of the chart puts it in, so that an upgrade brings it along; in `crds/` Helm would never touch it again. */
const DEFINITION = 'charts/slipway/files/slipway.dev_releasechannels.yaml';

function renderAll(): Map<string, string> {
  const protocol = readFileSync(join(REFERENCE, 'daemon-protocol.md'), 'utf8');
  return new Map([
    ['openapi.yaml', renderOpenApiYaml()],
    ['problems.md', renderProblems()],
    ['reasons.md', renderReasons()],
    ['operations.md', renderOperations()],
    ['operation-statuses.md', renderOperationStatuses()],
    ['actions.md', renderActions()],
    ['metrics.md', renderMetrics()],
    ['ctl.md', renderCtlPage()],
    ['configuration.md', renderConfigurationPage()],
    ['parse-rules.md', renderParseRules()],
    ['catalogs.md', renderCatalogs()],
    ['exchange-formats.md', renderExchangeFormats()],
    ['glossary.md', renderGlossary()],
    ['parse-errors.md', renderParseErrors()],
    ['translation-states.md', renderTranslationStates()],
    ['translation-checks.md', renderTranslationChecks()],
    ['dependencies.md', renderDependencies(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))],
    ['daemon-protocol.md', renderProtocol(protocol)],
    ['releasechannel.md', renderReleaseChannelPage()],
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
  const pages = format(renderAll());
  const orphans = globSync('schemas/**/*.json', { cwd: REFERENCE })
    .filter((name) => !pages.has(name))
    .map((name) => `docs/reference/${name}`);
  // By path below the repository; a chart's files are not formatted.
  const files = new Map([...pages].map(([name, text]) => [`docs/reference/${name}`, text]));
  files.set(DEFINITION, renderReleaseChannelDefinition());
  const stale = [...files].filter(([name, text]) => {
    const path = join(ROOT, name);
    return !existsSync(path) || readFileSync(path, 'utf8') !== text;
  });
  if (check) {
    for (const [name] of stale) console.error(`${name} differs from the contract`);
    for (const name of orphans) console.error(`${name} is no longer in the contract`);
    if (stale.length + orphans.length > 0) console.error('run: make docs');
    return stale.length + orphans.length > 0 ? 1 : 0;
  }
  for (const [name, text] of stale) write(join(ROOT, name), text);
  for (const name of orphans) rmSync(join(ROOT, name));
  console.log(`${files.size} files, ${stale.length} written, ${orphans.length} removed`);
  return 0;
}

process.exitCode = main(process.argv.includes('--check'));
