import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Watches how much of the machine others used while a bench ran. */
export interface NoiseWatch {
  /** For example `steal 0.4 %`. */
  summary(): string;
}

/** Begins to watch. Reads `/proc/stat`, so it says nothing where there is none. */
export function watchNoise(): NoiseWatch {
  const before = readCpu();
  return {
    summary: () => {
      const after = readCpu();
      if (before === null || after === null) return 'unknown on this system';
      const total = after.total - before.total;
      const steal = total === 0 ? 0 : (after.steal - before.steal) / total;
      return `steal ${(steal * 100).toFixed(1)} %, load ${loadAverage()}`;
    },
  };
}

function readCpu(): { readonly total: number; readonly steal: number } | null {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
    const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
    return { total: ticks.reduce((sum, each) => sum + each, 0), steal: ticks[7] ?? 0 };
  } catch (error) {
    if (process.platform === 'linux') throw error;
    return null;
  }
}

function loadAverage(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
}
