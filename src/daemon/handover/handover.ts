import { join } from 'node:path';
import { readBoundedFile } from '../../platform/files/files.ts';
import { makePrivateFile } from '../../platform/files/private-files.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import { writeFileSync } from '../../platform/files/file-changes.ts';

const REQUEST_FILE = 'daemon.handover';
/** A boot id and a number. */
const MAX_BYTES = 128;
/** Milliseconds between two checks of the holder. A daemon that waits changes the request several times meanwhile. */
const CHECK_MS = 3000;
/** Milliseconds for which the holder must have had nothing to serve: longer than a start, or a failure that passes. */
export const HANDOVER_AFTER_MS = 15_000;
/** Milliseconds for which a daemon that handed over leaves the folder alone: the other one tries twice a second. */
export const HANDOVER_PAUSE_MS = 5000;

/**
 * Creates the function with which a daemon that waits for a data folder asks its holder for it: each call changes the
 * request. A folder that cannot be written gets no request.
 *
 * @param directory the data folder
 * @param bootId of the daemon that waits
 */
export function createHandoverRequest(directory: string, bootId: string): () => void {
  const path = join(directory, REQUEST_FILE);
  let turn = 0;
  return () => {
    turn += 1;
    try {
      makePrivateFile(path);
      writeFileSync(path, `${bootId} ${turn}\n`);
    } catch {
      // The holder keeps the folder, and this daemon waits for longer.
    }
  };
}

/**
 * Creates the watch of a daemon that holds a data folder. A request counts when it changes between two checks: its writer
 * is alive then, and no two clocks are compared.
 */
export function createHandoverWatch(options: {
  /** The data folder. */
  readonly directory: string;
  readonly clock: Clock;
  /** Whether clients can be served from what this daemon attests. When it throws, the daemon keeps the folder. */
  readonly canServe: () => boolean;
  /** Called once, when another daemon asks while this one has had nothing to serve for a while. */
  readonly onHandover: () => void;
}): Loop {
  const { clock, canServe, onHandover } = options;
  const path = join(options.directory, REQUEST_FILE);
  let seen: string | null = null;
  let idleSince: number | null = null;

  const isAsked = async (): Promise<boolean> => {
    const before = seen;
    seen = await readBoundedFile(path, MAX_BYTES).then(
      (bytes) => bytes.toString('latin1'),
      () => null,
    );
    return before !== null && seen !== null && seen !== before;
  };

  return createLoop({
    clock,
    turn: async () => {
      const asked = await isAsked();
      idleSince = canServe() ? null : (idleSince ?? clock.monotonic());
      if (!asked || idleSince === null || clock.monotonic() - idleSince < HANDOVER_AFTER_MS) return CHECK_MS;
      onHandover();
      return Infinity;
    },
    onFailure: () => {
      idleSince = null;
      return CHECK_MS;
    },
  });
}
