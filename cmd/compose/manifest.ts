import process from 'node:process';
import { createProgressDisplay } from '../../src/cli/output/progress-display.ts';
import { renderProgress } from '../../src/cli/output/progress-line.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { runManifest } from '../../src/upstream/release-file/run-manifest.ts';

/** Runs `slipway manifest` in this process. */
export async function writeManifest(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const { stdout, stderr } = process;
  stdout.on('error', () => undefined);
  const display = createProgressDisplay(stderr, systemClock);
  const progress = {
    show: (done: number) => {
      display.show(renderProgress({ done, total: null, unit: 'bytes', phase: 'read' }));
    },
    end: () => {
      display.end();
    },
  };
  return await runManifest(argv, { stdout, stderr, progress, clock: systemClock, signal });
}
