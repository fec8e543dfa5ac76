import process from 'node:process';
import { runExport } from '../../src/cli/bundle/export.ts';
import { runImport } from '../../src/cli/bundle/import.ts';
import type { BundleIo } from '../../src/cli/bundle/bundle-io.ts';
import { systemClock } from '../../src/platform/process/clock.ts';

/** Runs `slipway export` or `slipway import` in this process. */
export async function runBundleCommand(
  command: 'export' | 'import',
  argv: readonly string[],
  signal: AbortSignal,
): Promise<number> {
  process.stdout.on('error', () => undefined);
  return await (command === 'export' ? runExport : runImport)(argv, processIo(signal));
}

function processIo(signal: AbortSignal): BundleIo {
  const { stdin, stdout, stderr } = process;
  return { stdin, stdout, stderr, clock: systemClock, signal };
}
