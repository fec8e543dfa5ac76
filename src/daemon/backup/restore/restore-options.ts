import { failure, success, type Result } from '../../../domain/result.ts';
import { parseOptions } from '../../../platform/terminal/parse-options.ts';

/** The options of `slipway restore`. */
export interface RestoreOptions {
  /** The folder of one backup. */
  readonly from: string;
  /** The data folder of the daemon. */
  readonly data: string;
  /** Names of databases; empty for those that are missing or damaged. */
  readonly databases: readonly string[];
  /** Whether to restore all that the backup has, also over sound ones. */
  readonly all: boolean;
}

/** The help of `slipway restore`. */
export const RESTORE_USAGE = `Usage: slipway restore --from FOLDER --data DIR [--database NAME | --all]

Puts the databases of a backup into the data folder of a daemon that does not run. Checks the
backup first, and changes nothing when a file of it is damaged. The files that are replaced stay beside the new ones.
Without --database and --all it restores the databases that are missing or damaged, and leaves sound ones as they are.
Ends with 0 when all is restored, 1 when nothing was changed, the restore must be run again or a lost database has no copy
in this backup, 2 for wrong arguments.

  --from FOLDER    the folder of one backup, as backup-2026-03-01T03-00-00.000Z in backup.folder
  --data DIR       data.dir of the daemon
  --database NAME  restores only this database (memory, glossary or translation); may be repeated
  --all            restores every database of the backup; the changes since the backup are lost from sound ones too
`;

/**
 * Reads the command line after `restore`.
 *
 * @returns the options, `'help'`, or one sentence that says what is wrong
 */
export function parseRestoreOptions(argv: readonly string[]): Result<RestoreOptions | 'help', string> {
  const parsed = parseOptions({
    args: [...argv],
    options: {
      from: { type: 'string' },
      data: { type: 'string' },
      database: { type: 'string', multiple: true, default: [] },
      all: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { values } = parsed.value;
  if (values.help) return success('help');
  const { from, data, database, all } = values;
  if (from === undefined || from === '') return failure('--from FOLDER is missing');
  if (data === undefined || data === '') return failure('--data DIR is missing');
  if (all && database.length > 0) return failure('--all and --database exclude each other');
  return success({ from, data, all, databases: [...new Set(database)] });
}
