import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { hasTool } from './tools.ts';

const SCRIPT = resolve(import.meta.dirname, '../../scripts/node-tools.sh');

/**
 * The folder with the installed packages of scripts/NAME/package.json, installed if they are missing; see
 * scripts/node-tools.sh.
 *
 * @param name the folder in scripts
 * @returns `null` when they are missing and cannot be installed here; in CI that is an error
 */
export function nodeTools(name: string): string | null {
  if (!hasTool('npm')) return null;
  const run = spawnSync(SCRIPT, [name], { encoding: 'utf8' });
  if (run.status === 0) return run.stdout.trim();
  if (process.env['CI'] === 'true') throw new Error(`scripts/node-tools.sh failed:\n${run.stderr}`);
  console.warn(`SKIPPED: the tests with ${name}: they could not be installed:\n${run.stderr}`);
  return null;
}
