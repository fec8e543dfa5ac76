import type { OpenFilesNeed } from '../platform/process/open-files.ts';
import { DEFAULT_BYTE_PATH_LIMITS } from './bytes/byte-path-limits.ts';
import type { ServerConfiguration } from './config/config.ts';

/** The ports, the daemon, the log, the manifest, and a few clients. */
const BASE = 64;
/** What a thread of Node holds: its event loop and its pipes. */
const OF_THREAD = 8;

/** How many files each process of a server with these settings has open. */
export function serverOpenFiles({ limits, verification, workers }: ServerConfiguration): OpenFilesNeed {
  const minimum = BASE + OF_THREAD * verification.threads;
  return {
    minimum,
    recommended:
      minimum +
      Math.ceil(limits.maxConnections / workers) +
      limits.revalidations +
      DEFAULT_BYTE_PATH_LIMITS.openDescriptors,
  };
}
