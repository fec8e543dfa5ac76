import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { hasTool } from './tools.ts';

const SCRIPT = resolve(import.meta.dirname, '../../scripts/kube-tools.sh');

/** The CRDs of other projects whose objects the chart can make. */
export const FOREIGN_CRDS = [
  'httproutes.yaml',
  'podmonitors.yaml',
  'prometheusrules.yaml',
  'servicemonitors.yaml',
] as const;

/**
 * Paths of Kubernetes programs, built if they are missing; see scripts/kube-tools.sh.
 *
 * @returns `null` when they are missing and cannot be built here; in CI that is an error
 */
export function kubeTools<Name extends string>(...programs: readonly Name[]): Record<Name, string> | null {
  const run = spawnSync(SCRIPT, programs, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const folder = run.stdout.trim();
  if (run.status === 0) {
    return Object.fromEntries(programs.map((name) => [name, join(folder, name)])) as Record<Name, string>;
  }
  if (!hasTool('go')) return null;
  throw new Error(`scripts/kube-tools.sh ${programs.join(' ')} failed:\n${run.stderr}`);
}
