import { globSync } from 'node:fs';
import { execute } from './execute.ts';
import type { Outcome } from './outcome.ts';

const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12';
/** How `scripts/go-tools.sh` ends where the program cannot be built because Go is missing. */
const NO_GO = 127;

/**
 * Checks the workflow files of GitHub. Its helpers for shell and Python stay off: whether a machine has them must not change
 * the result.
 *
 * @returns one check, which is skipped where Go is missing
 */
export async function checkWorkflows({ label }: { readonly label: string }): Promise<Outcome> {
  const files = globSync('.github/workflows/*.{yml,yaml}').toSorted();
  const args = [ACTIONLINT, '-no-color', '-shellcheck=', '-pyflakes=', ...files];
  const { code, processorSeconds } = await execute('scripts/go-tools.sh', args, label);
  if (code === NO_GO) {
    console.log('SKIPPED: the check of the workflow files: actionlint needs Go to be built');
    return { passed: 0, failed: 0, skipped: 1, processorSeconds };
  }
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, processorSeconds };
}
