import { setTimeout as delay } from 'node:timers/promises';
import { processFigures } from '../support/process-figures.ts';
import { ownSeconds, processFamily, processorSeconds } from './processor-time.ts';

const SAMPLE_MS = 100;

/** The resources that the processes of a site used. */
export interface Samples {
  /** Processor time of the daemon with its threads, and of the processes that parse. */
  readonly daemonSeconds: number;
  readonly parserSeconds: number;
  /** Largest resident memory of the daemon with its threads, and of a process that parses; bytes. */
  readonly daemonBytes: number;
  readonly parserBytes: number;
}

/** Reads the memory of the daemon and of its children continuously. Processes that parse are its only children. */
export function startSampling(daemonPid: number): { stop(): Promise<Samples> } {
  let [daemonBytes, parserBytes, parserSeconds] = [0, 0, 0];
  const before = ownSeconds(daemonPid);
  const sample = async (): Promise<void> => {
    for (const pid of processFamily(daemonPid)) {
      // A process that has ended meanwhile has no figures.
      const residentBytes = (await processFigures(pid).catch(() => null))?.residentBytes ?? 0;
      if (pid === daemonPid) daemonBytes = Math.max(daemonBytes, residentBytes);
      else parserBytes = Math.max(parserBytes, residentBytes);
    }
    parserSeconds = Math.max(parserSeconds, processorSeconds([daemonPid]) - ownSeconds(daemonPid));
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
      return { daemonBytes, parserBytes, parserSeconds, daemonSeconds: ownSeconds(daemonPid) - before };
    },
  };
}
