import { once } from 'node:events';
import process from 'node:process';

/**
 * Ends the process once its output is written. A write to a pipe continues after the call that made it; `process.exit` alone
 * would cut it.
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
  process.exit(code);
}

/** Also resolves when the reader has closed the stream. */
async function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0) return;
  await new Promise<void>((resolve) => {
    stream.once('error', () => resolve());
    stream.write('', () => resolve());
  });
}
