import process from 'node:process';
import packageManifest from '../../package.json' with { type: 'json' };
import { createProgressDisplay } from '../../src/cli/output/progress-display.ts';
import { renderProgress } from '../../src/cli/output/progress-line.ts';
import { runQuality } from '../../src/localization/translation/quality/run-quality.ts';
import { systemClock } from '../../src/platform/process/clock.ts';

/** Runs `slipway translations` in this process. */
export async function evaluateTranslations(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const { stdout, stderr } = process;
  stdout.on('error', () => undefined);
  const display = createProgressDisplay(stderr, systemClock);
  const progress = {
    show: (done: number, total: number) => {
      display.show(renderProgress({ done, total, unit: 'units', phase: 'ask' }));
    },
    end: () => {
      display.end();
    },
  };
  const { version } = packageManifest;
  const clock = systemClock;
  return await runQuality(argv, { stdout, stderr, progress, clock, random: Math.random, signal, version });
}
