import { tmpdir } from 'node:os';
import { createIsolatedWorker } from '../../platform/isolation/isolated-worker.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { pause } from '../../platform/process/pause.ts';
import type { CheckedStructure, StepsDone } from './structure-process.ts';

/** How the check of a file ended. */
type FileCheck =
  | { readonly kind: 'checked'; readonly finding: string | null }
  | { readonly kind: 'too_long' | 'failed' };

/**
 * Longest time of the check. Nothing is attested meanwhile, and attestations last ten minutes by default, so that an earlier one
 * does not expire because of the check.
 */
export const CHECK_TIMEOUT_MS = 4 * 60_000;

/** Milliseconds between two lines of the log. */
const PROGRESS_MS = 10_000;

interface CheckLargeFileOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the check. */
  readonly signal: AbortSignal;
}

/** Checks the structure of a file; the daemon answers its supervisor and its API meanwhile. */
export type CheckLargeFile = (
  path: string,
  bytes: number,
  options: CheckLargeFileOptions,
) => Promise<FileCheck>;

/**
 * Checks a large file in a process of its own, and logs how far it is.
 *
 * @throws the reason of the signal, when the process is already told to end
 */
export const checkLargeFile: CheckLargeFile = async (path, bytes, { clock, logger, signal }) => {
  const worker = createIsolatedWorker<null, string, StepsDone, CheckedStructure>({
    program: new URL('./structure-process.ts', import.meta.url),
    setup: null,
    // The job makes no temporary file.
    scratchDirectory: tmpdir(),
    memoryBytes: 512 * 1024 * 1024,
    timeoutMs: CHECK_TIMEOUT_MS,
    clock,
    names: { work: 'the check of the database', timeoutSetting: 'the limit', memorySetting: 'the limit' },
  });
  const startedAt = clock.monotonic();
  const ended = new AbortController();
  let tables = 0;
  const fields = () => ({
    path,
    bytes,
    tables_checked: tables,
    seconds: Math.round((clock.monotonic() - startedAt) / 1000),
  });
  const logProgress = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      logger.info(fields(), 'the structure of the database is being checked');
      await pause(clock, PROGRESS_MS, ended.signal);
    }
  };
  const progress = logProgress();
  try {
    const outcome = await worker.run(
      path,
      (done) => {
        tables = done;
      },
      signal,
    );
    if (outcome.kind === 'done') return { kind: 'checked', finding: outcome.result.finding };
    const isTooLong = outcome.code === 'deadline_exceeded';
    const message = isTooLong
      ? 'the check of the database takes too long; the start continues, and the doctor checks it'
      : 'the database could not be checked before it is opened';
    logger.warn({ ...fields(), detail: outcome.message }, message);
    return { kind: isTooLong ? 'too_long' : 'failed' };
  } finally {
    ended.abort();
    worker.close();
    await progress;
  }
};
