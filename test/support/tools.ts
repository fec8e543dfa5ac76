import { spawnSync } from 'node:child_process';
import process from 'node:process';

/**
 * Whether a program that a test needs is installed. In CI a missing program is an error. On a user's machine the tests
 * that need it are skipped, and the reason is printed.
 *
 * @param debianPackage the package that brings it
 */
export function hasTool(name: string, debianPackage: string = name): boolean {
  const found = spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
  if (found) return true;
  if (process.env['CI'] === 'true') throw new Error(`${name} is not installed; .ci/run must bring it`);
  console.warn(
    `SKIPPED: tests that drive ${name}: it is not installed (on Debian: apt-get install ${debianPackage})`,
  );
  return false;
}
