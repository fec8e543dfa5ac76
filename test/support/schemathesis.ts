import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';
import { hasTool } from './tools.ts';

const SCRIPT = resolve(import.meta.dirname, '../../scripts/fuzz-tools.sh');

/**
 * The path of Schemathesis, installed if it is missing; see scripts/fuzz-tools.sh.
 *
 * @returns `null` when it is missing and cannot be installed here; in CI that is an error
 */
export function schemathesisProgram(): string | null {
  if (!hasTool('python3')) return null;
  const run = spawnSync(SCRIPT, { encoding: 'utf8' });
  if (run.status === 0) return run.stdout.trim();
  if (process.env['CI'] === 'true') throw new Error(`scripts/fuzz-tools.sh failed:\n${run.stderr}`);
  console.warn(`SKIPPED: the fuzz test: Schemathesis could not be installed:\n${run.stderr}`);
  return null;
}
