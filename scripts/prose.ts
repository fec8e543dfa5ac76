/**
 * Checks documents, comments and messages for the idioms of scripts/prose/idioms.ts.
 *
 *   node scripts/prose.ts [PATH ...]
 *
 * Without a PATH it checks {@link CHECKED}. It prints `file:line: "words": hint` and exits with 1 when
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
  'src',
  'test',
];
const PATTERN = '**/*.{md,ts,tsx,js,html,yaml,yml,tpl,txt,sh}';
/** A generated file whose sources are checked, the list of idioms itself, and its test. */
const LEFT_OUT = new Set([
  'docs/reference/openapi.yaml',
  'scripts/prose/idioms.ts',
  'test/unit/scripts/prose.test.ts',
]);

/** Prints the idioms in the files at and below some paths; returns how many there are. */
function check(paths: readonly string[]): number {
  let count = 0;
  for (const file of paths.flatMap(filesBelow).filter((each) => !LEFT_OUT.has(each))) {
    const found = findIdioms(file, readFileSync(join(ROOT, file), 'utf8'));
    for (const { line, words, hint } of found) {
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
const count = check(wanted.length > 0 ? wanted : CHECKED);
console.log(`${count} idioms found`);
process.exitCode = count === 0 ? 0 : 1;
