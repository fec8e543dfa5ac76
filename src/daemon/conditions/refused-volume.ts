import type { DaemonCondition, DaemonConditionCode } from '../../domain/service-state/daemon-conditions.ts';
import type { StorageFailure } from '../../engine/database/storage-failure.ts';

/** A condition, and its message. */
type Told = readonly [code: DaemonConditionCode, message: string];

const SNAPSHOT_REFUSES: Told = ['volume_unwritable', 'the daemon cannot write to the snapshot volume'];
const DATA_REFUSES: Told = ['volume_unwritable', 'the daemon cannot write to the volume of the data folder'];

/** The condition of each failure of a volume. */
const CONDITIONS: ReadonlyMap<string, Told> = new Map<string, Told>([
  ['no_space', ['volume_full', 'the snapshot volume has too little free space, and the daemon waits for it']],
  ['read_only', SNAPSHOT_REFUSES],
  ['io_error', SNAPSHOT_REFUSES],
  ['store_unavailable', SNAPSHOT_REFUSES],
  [
    'data_full',
    [
      'data_volume_full',
      'the volume of the data folder has too little free space, and the daemon waits for it',
    ],
  ],
  ['data_read_only', DATA_REFUSES],
  ['data_io_error', DATA_REFUSES],
]);

/**
 * The condition of a daemon that waits until a volume takes writes.
 *
 * @param since Unix seconds
 * @returns none for a failure that is not that of a volume
 */
export function refusedVolume({ code }: StorageFailure, since: number): readonly DaemonCondition[] {
  const told = CONDITIONS.get(code);
  return told === undefined ? [] : [{ code: told[0], message: told[1], since, next_try: null }];
}
