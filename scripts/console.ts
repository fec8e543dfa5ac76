/**
 * Builds the console into `.console/`, from which the server reads it.
 *
 *   node scripts/console.ts [--if-needed | --check]
 *
 * `--if-needed` builds only when the sources or the packages differ from those of the last build. `--check` builds into
 * another folder and fails unless every byte is the same.
 */

import { parseArgs } from 'node:util';
import process from 'node:process';
import { checkConsole, ensureConsole, buildConsole } from './console/build-console.ts';

const { values } = parseArgs({
  options: { 'if-needed': { type: 'boolean' }, check: { type: 'boolean' } },
});
try {
  if (values.check === true) await check();
  else if (values['if-needed'] === true) await ensureConsole();
  else await buildConsole();
} catch (error) {
  console.error(
    `slipway: the console cannot be built: ${error instanceof Error ? error.message : String(error)}`,
  );
  process.exitCode = 1;
}

async function check(): Promise<void> {
  const differing = await checkConsole();
  if (differing.length > 0) throw new Error(`a second build differs in ${differing.join(', ')}`);
}
