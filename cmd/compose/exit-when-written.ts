import { once } from 'node:events';
import process from 'node:process';
import { errorCode } from '../../src/platform/files/error-code.ts';
import { messageOf } from '../../src/platform/errors.ts';

/**
 * Ends the process once its output is written. A write to a pipe continues after the call that made it; `process.exit` alone
 * would cut it. Output that could not be written makes a success a failure, unless its reader has closed it.
 *
 * @param interrupted aborted when the user no longer waits for a slow reader
 */
export async function exitWhenWritten(code: number, interrupted: AbortSignal): Promise<never> {
  if (!interrupted.aborted) {
    await Promise.race([
      Promise.all([written(process.stdout), written(process.stderr)]),
      once(interrupted, 'abort'),
    ]);
  }
  const { errored } = process.stdout;
  if (code === 0 && errored !== null) exitWithoutOutput(errored);
  process.exit(code);
}

/** Ends the process whose output cannot be written. A reader may close it, as in `slipway ctl logs -f | head`. */
export function exitWithoutOutput(error: Error): never {
  if (errorCode(error) === 'EPIPE') process.exit(0);
  process.stderr.write(`slipway: the output cannot be written: ${messageOf(error)}\n`);
  process.exit(1);
}

/** Also resolves when the reader has closed the stream. */
async function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0) return;
  await new Promise<void>((resolve) => {
    stream.once('error', () => resolve());
    stream.write('', () => resolve());
  });
}
