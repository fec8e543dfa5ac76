import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { hasTool } from './tools.ts';

const SCRIPT = resolve(import.meta.dirname, '../../scripts/python-tools.sh');

/**
 * The path of a program written in Python, installed if it is missing; see scripts/python-tools.sh.
 *
 * @param name the folder in scripts with its requirements
 * @param module the module to run; without one, the program runs a script
 * @returns `null` when it is missing and cannot be installed here; in CI that is an error
 */
export function pythonProgram(name: string, module: string | null): string | null {
  if (!hasTool('python3')) return null;
  const run = spawnSync(SCRIPT, [name, ...(module === null ? [] : [module])], { encoding: 'utf8' });
  if (run.status === 0) return run.stdout.trim();
  if (process.env['CI'] === 'true') throw new Error(`scripts/python-tools.sh failed:\n${run.stderr}`);
  console.warn(`SKIPPED: the tests with ${name}: it could not be installed:\n${run.stderr}`);
  return null;
}
