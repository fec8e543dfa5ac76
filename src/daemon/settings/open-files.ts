import type { OpenFilesNeed } from '../../platform/process/open-files.ts';
import type { DaemonConfiguration } from './config.ts';

/** The databases with their logs, the threads beside those that hash, the API, the log and the lease. */
const BASE = 128;
/** What a thread or a child process of Node holds: its event loop and its pipes. */
const OF_THREAD = 8;
/** A connection, the file that it fills, and its side file. */
const OF_DOWNLOAD = 3;
/** Files that are flushed to the disk, connections to the API, and connections to a provider of translations. */
const AT_THE_SAME_TIME = 16 + 256 + 64;

/** How many files a daemon with these settings has open. */
export function daemonOpenFiles({
  hashing,
  parse,
  upstream,
  verify,
}: Pick<DaemonConfiguration, 'hashing' | 'parse' | 'upstream' | 'verify'>): OpenFilesNeed {
  const minimum = BASE + OF_THREAD * (hashing.threads + parse.processes);
  return {
    minimum,
    recommended: minimum + OF_DOWNLOAD * upstream.concurrency + verify.concurrency + AT_THE_SAME_TIME,
  };
}
