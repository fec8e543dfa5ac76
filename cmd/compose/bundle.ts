import process from 'node:process';
import { runExport } from '../../src/cli/bundle/export.ts';
import { runImport } from '../../src/cli/bundle/import.ts';
import type { BundleIo } from '../../src/cli/bundle/bundle-io.ts';
import { systemClock } from '../../src/platform/process/clock.ts';

/** Runs `slipway export` in this process. */
export async function exportBundle(argv: readonly string[], signal: AbortSignal): Promise<number> {
  process.stdout.on('error', () => undefined);
  return await runExport(argv, processIo(signal));
}

/** Runs `slipway import` in this process. */
export async function importBundle(argv: readonly string[], signal: AbortSignal): Promise<number> {
  return await runImport(argv, processIo(signal));
}

function processIo(signal: AbortSignal): BundleIo {
  const { stdin, stdout, stderr } = process;
  return { stdin, stdout, stderr, clock: systemClock, signal };
}
