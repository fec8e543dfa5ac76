import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** Everything that decides a byte of the built console: sources, packages, the bundler and this program. */
const INPUTS = [
  'src/console/**/*.{ts,tsx,css,html,svg}',
  'src/{contract,domain}/**/*.ts',
  'docs/runbooks/*.md',
  'scripts/console.ts',
  'scripts/console/*.ts',
  'scripts/console-tools/*.json',
  'package-lock.json',
];

/** The digest of all inputs. It tells whether a build is up to date; times of files do not, after a checkout. */
export function digestInputs(): string {
  const digest = createHash('sha256');
  for (const name of INPUTS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()) {
    const bytes = readFileSync(join(ROOT, name));
    digest.update(`${name}\0${bytes.length}\0`).update(bytes);
  }
  return digest.digest('hex');
}
