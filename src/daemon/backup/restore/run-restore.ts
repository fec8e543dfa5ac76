import { messageOf } from '../../../platform/errors.ts';
import { noFailpoints } from '../../../platform/files/failpoints.ts';
import { createHashPool } from '../../../platform/hashing/hash-pool.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { usageError } from '../../../platform/terminal/usage-error.ts';
import { openCopyThread } from '../copy-database.ts';
import { DataLockHeldError } from '../../../engine/database/data-lock.ts';
import { parseRestoreOptions, RESTORE_USAGE } from './restore-options.ts';
import { restoreBackup, type Restored } from './restore-backup.ts';

const EXITS = { ok: 0, failed: 1, usage: 2 } as const;

/**
 * Runs `slipway restore`: puts databases of a backup into the data folder of a daemon that does not run.
 *
 * @param argv the command line after `restore`
 * @returns the exit code
 */
export async function runRestore(
  argv: readonly string[],
  io: {
    readonly stdout: { write(text: string): unknown };
    readonly stderr: { write(text: string): unknown };
    readonly clock: Clock;
    /** Ends the run. */
    readonly signal: AbortSignal;
  },
): Promise<number> {
  const options = parseRestoreOptions(argv);
  if (!options.ok) {
    io.stderr.write(usageError('slipway restore', options.error));
    return EXITS.usage;
  }
  if (options.value === 'help') {
    io.stdout.write(RESTORE_USAGE);
    return EXITS.ok;
  }
  const pool = createHashPool({ threads: 1 });
  const thread = openCopyThread();
  const { data } = options.value;
  try {
    const now = new Date(io.clock.now());
    const outcome = await restoreBackup(options.value, {
      ...io,
      pool,
      thread: thread.calls,
      now,
      failpoints: noFailpoints,
    });
    io.stdout.write(describe(outcome));
    for (const name of outcome.lost) {
      io.stderr.write(
        `slipway restore: ${name} is lost, and nobody had used it yet when this backup was made; use a newer backup\n`,
      );
    }
    return outcome.lost.length === 0 ? EXITS.ok : EXITS.failed;
  } catch (error) {
    const reason = error instanceof DataLockHeldError ? heldText(data, error) : messageOf(error);
    io.stderr.write(`slipway restore: ${reason}\n`);
    return EXITS.failed;
  } finally {
    await thread.close();
    await pool.close();
  }
}

function heldText(data: string, { holder }: DataLockHeldError): string {
  return `a daemon${holder} uses ${data}; stop it and its supervisor first; nothing was changed`;
}

function describe({ restored, left, neverUsed }: Restored): string {
  return [
    ...restored.map(({ name, bytes, keptAt }) => {
      const before = keptAt === null ? 'there was no file before' : `the file before is ${keptAt}`;
      return `${name}: restored, ${bytes} bytes; ${before}\n`;
    }),
    ...left.map(
      (name) => `${name}: sound, left as it is; to replace it too, run again with --database ${name}\n`,
    ),
    ...neverUsed.map(
      (name) => `${name}: nobody had used it yet when the backup was made; nothing to restore\n`,
    ),
  ].join('');
}
