import type { VolumeState } from '../../domain/verdict/evidence.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { createBoundedRead } from './bounded-read.ts';

/**
 * Makes the function that reads FORMAT of the snapshot volume. It never throws and never takes longer than the time limit,
 * even when the mount hangs.
 */
export function createVolumeReader({
  root,
  readStoreId,
  clock,
  onFailure,
  timeoutMs,
}: {
  readonly root: string;
  readonly readStoreId: (root: string) => Promise<string>;
  readonly clock: Clock;
  /** Called with the error when the volume becomes unreadable, and whether it was never readable, for the log. */
  readonly onFailure: (error: unknown, wasNeverReadable: boolean) => void;
  /** Milliseconds after which a mount that does not answer counts as absent. */
  readonly timeoutMs: number;
}): () => Promise<VolumeState> {
  let isFailing = false;
  let wasNeverReadable = true;
  const read = async (): Promise<VolumeState> => {
    try {
      const storeId = await readStoreId(root);
      isFailing = false;
      wasNeverReadable = false;
      return { ok: true, storeId };
    } catch (error) {
      if (!isFailing) onFailure(error, wasNeverReadable);
      isFailing = true;
      return {
        ok: false,
        message: `the snapshot volume is absent or unreadable (${codeOf(error)})`,
      };
    }
  };
  const onTimeout = (): VolumeState => ({
    ok: false,
    message: `the snapshot volume did not answer within ${timeoutMs} ms`,
  });
  return createBoundedRead({ read, onTimeout, clock, timeoutMs });
}

/** The message reaches probe bodies, so it contains a code and no path. */
function codeOf(error: unknown): string {
  return errorCode(error) ?? 'its FORMAT file is not valid';
}
