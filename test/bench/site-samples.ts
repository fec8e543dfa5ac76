import { setTimeout as delay } from 'node:timers/promises';
import { processFigures } from '../support/process-figures.ts';
import { familySeconds, ownSeconds, processFamily } from './processor-time.ts';

const SAMPLE_MS = 100;

/** The resources that the processes of a site used. */
export interface Samples {
  /** Processor time of the daemon with its threads, and of its children. */
  readonly daemonSeconds: number;
  readonly childSeconds: number;
  /** Largest resident memory of the daemon with its threads, and of a child; bytes. */
  readonly daemonBytes: number;
  readonly childBytes: number;
}

/** Reads the memory of the daemon and of its children continuously: they parse, patch, and rewrite catalogs. */
export function startSampling(daemonPid: number): { stop(): Promise<Samples> } {
  let [daemonBytes, childBytes] = [0, 0];
  const before = ownSeconds(daemonPid);
  const allBefore = familySeconds(daemonPid);
  const sample = async (): Promise<void> => {
    for (const pid of processFamily(daemonPid)) {
      // A process that has ended meanwhile has no figures.
      const residentBytes = (await processFigures(pid).catch(() => null))?.residentBytes ?? 0;
      if (pid === daemonPid) daemonBytes = Math.max(daemonBytes, residentBytes);
      else childBytes = Math.max(childBytes, residentBytes);
    }
  };
  const stopping = new AbortController();
  const sampling = (async () => {
    while (!stopping.signal.aborted) {
      await sample();
      await delay(SAMPLE_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await sampling;
      const daemonSeconds = ownSeconds(daemonPid) - before;
      const childSeconds = familySeconds(daemonPid) - allBefore - daemonSeconds;
      return { daemonBytes, childBytes, daemonSeconds, childSeconds };
    },
  };
}
