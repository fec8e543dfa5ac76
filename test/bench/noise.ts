import { readFileSync } from 'node:fs';
import process from 'node:process';
import { machineTime, ownProcessorSeconds } from './processor-time.ts';

/** Above this a round is noisy; shares of the capacity of all processors. */
const MAX_STEAL = 0.12;
const MAX_FOREIGN = 0.2;

/** Watches how much of the machine other programs used during a bench. */
export interface NoiseWatch {
  /** For example `steal 0.4 %`. */
  summary(): string;
}

/** Starts watching. Reads `/proc/stat`; without that file the summary is empty. */
export function watchNoise(): NoiseWatch {
  if (process.platform !== 'linux') return { summary: () => 'unknown on this system' };
  const round = beginRound();
  return {
    summary: () => {
      const { steal, foreign } = round.end();
      return `steal ${percent(steal)}, other programs ${percent(foreign)}, load ${loadAverage()}`;
    },
  };
}

/** How much of the machine others used, 0 to 1. */
export interface Noise {
  readonly steal: number;
  readonly foreign: number;
}

/** Starts a round; its end returns what others used meanwhile. Linux only. */
export function beginRound(): { end(): Noise } {
  const before = machineTime();
  const ownBefore = ownProcessorSeconds();
  return {
    end: () => {
      const after = machineTime();
      const own = ownProcessorSeconds() - ownBefore;
      const total = Math.max(after.total - before.total, Number.EPSILON);
      return {
        steal: (after.steal - before.steal) / total,
        foreign: Math.max(0, after.programs - before.programs - own) / total,
      };
    },
  };
}

/** Whether a round is unreliable because others used the machine. */
export function isNoisy({ steal, foreign }: Noise): boolean {
  return steal > MAX_STEAL || foreign > MAX_FOREIGN;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function loadAverage(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
}
