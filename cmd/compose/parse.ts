import process from 'node:process';
import { runParse } from '../../src/localization/parse/offline/run-parse.ts';
import { systemClock } from '../../src/platform/process/clock.ts';

/** Runs `slipway parse` in this process. */
export async function parseOffline(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const { stdout, stderr } = process;
  // Its writes report what is wrong with the output.
  stdout.on('error', () => undefined);
  return await runParse(argv, { stdout, stderr, clock: systemClock, signal });
}
