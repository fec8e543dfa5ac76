/**
 * Checks documents, comments and messages for the idioms of scripts/prose/idioms.ts.
 *
 *   node scripts/prose.ts [PATH ...]
 *
 * Without a PATH it checks {@link CHECKED} and {@link MESSAGES}. It prints `file:line: "words": hint` and exits with 1 when
 * it finds any.
 */
import { globSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { findIdioms } from './prose/find-idioms.ts';

const ROOT = resolve(import.meta.dirname, '..');
/** Files and folders whose text must be free of idioms. */
const CHECKED: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'Makefile',
  'charts',
  'cmd',
  'docs',
  'manifests',
  'scripts',
  'src/attestation',
  'src/cli',
  'src/contract',
  'src/daemon/settings/config.ts',
  'src/daemon/database',
  'src/daemon/settings',
  'src/daemon/upstream',
  'src/domain',
  'src/operator',
  'src/platform',
  'src/server/config/config.ts',
  'src/server/http',
  'src/server/metrics.ts',
  'src/server/public',
  'src/server/scrub',
  'src/server/workers',
  'src/snapshot',
  'test/arch',
  'test/bench',
  'test/cluster',
  'test/e2e/cluster',
  'test/e2e/container',
  'test/fakes',
  'test/support',
  'test/unit/attestation',
  'test/unit/cli',
  'test/unit/contract',
  'test/unit/domain',
  'test/unit/operator',
  'test/unit/server',
  'test/unit/snapshot',
];
/** Folders of which only strings are checked, not comments. */
const MESSAGES: readonly string[] = ['src/daemon', 'src/server'];
const PATTERN = '**/*.{md,ts,js,html,yaml,yml,tpl,txt,sh}';
/** A generated file whose sources are checked, and the list of idioms itself. */
const LEFT_OUT = new Set(['docs/reference/openapi.yaml', 'scripts/prose/idioms.ts']);

/** Prints the idioms in the files at and below some paths; returns how many there are. */
function check(paths: readonly string[], comments: boolean): number {
  let count = 0;
  for (const file of paths.flatMap(filesBelow).filter((each) => !LEFT_OUT.has(each))) {
    const found = findIdioms(file, readFileSync(join(ROOT, file), 'utf8'));
    for (const { line, words, hint, isComment } of found) {
      if (isComment && !comments) continue;
      console.log(`${file}:${line}: "${words}": ${hint}`);
      count += 1;
    }
  }
  return count;
}

function filesBelow(path: string): string[] {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return globSync(PATTERN, { cwd: join(ROOT, path) })
    .map((name) => join(path, name))
    .sort();
}

const wanted = process.argv.slice(2);
const count = wanted.length > 0 ? check(wanted, true) : check(CHECKED, true) + check(MESSAGES, false);
console.log(`${count} idioms found`);
process.exitCode = count === 0 ? 0 : 1;
