import { allRows, oneRow, prepareAll, type SqlDatabase } from '../../../releases/records/sql.ts';

export interface RollbackDecision {
  readonly at: number;
  readonly reviewer: string | null;
  readonly reason: string | null;
}

interface BegunRollback extends RollbackDecision {
  readonly task_id: string;
  readonly from_release_id: string;
  /** The release that is current instead; `null` when the channel was withdrawn. */
  readonly to_release_id: string | null;
}

/** A localized release that was taken back. Times are Unix seconds. */
export interface Rollback extends BegunRollback {
  readonly switched_at: number | null;
  /** Units that were put on hold; `null` until that is done. */
  readonly held_units: number | null;
  readonly reinstated_at: number | null;
  /** When automatic publishing was resumed after it; `null` while it is stopped. */
  readonly resumed_at: number | null;
}

const BEGUN = ['task_id', 'from_release_id', 'to_release_id', 'reviewer', 'reason', 'at'] as const;

export interface RollbackRecords {
  get(taskId: string): Rollback | null;
  /** Records a rollback before it takes effect. From then on automatic publishing is stopped. */
  begin(rollback: BegunRollback): void;
  /** Records that it took effect, and that the release that is current instead counts as taken back no longer. */
  switched(rollback: Rollback, nowSeconds: number): void;
  /** The newest rollback when it was begun and its effect is not recorded; `null` otherwise. */
  unrecorded(): Rollback | null;
  finish(taskId: string, heldUnits: number): void;
  /** Rollbacks in effect whose units are not on hold yet, the oldest first. */
  unfinished(): readonly Rollback[];
  /** The rollback that took a release back; `null` when none did, or when it has become current again. */
  takenBackBy(releaseId: string): RollbackDecision | null;
  reinstate(releaseId: string, nowSeconds: number): void;
  stoppedBy(): Rollback | null;
  /** The two newest rollbacks after which automatic publishing is stopped, the newest first. */
  stops(): readonly Rollback[];
  /** Resumes automatic publishing. @returns whether it was stopped */
  resume(nowSeconds: number): boolean;
}

export function createRollbackRecords(database: SqlDatabase): RollbackRecords {
  const statements = prepareAll(database, SQL);
  return {
    get: (taskId) => oneRow(statements.get, { task_id: taskId }),
    begin: (rollback) => {
      statements.begin.run(Object.fromEntries(BEGUN.map((column) => [column, rollback[column]])));
    },
    switched: ({ task_id, to_release_id }, now) => {
      database.transaction(() => {
        statements.switched.run({ task_id, now });
        if (to_release_id !== null) statements.reinstate.run({ release_id: to_release_id, now });
      });
    },
    unrecorded: () => oneRow(statements.unrecorded, {}),
    finish: (taskId, heldUnits) => {
      statements.finish.run({ task_id: taskId, held_units: heldUnits });
    },
    unfinished: () => allRows(statements.unfinished, {}),
    takenBackBy: (releaseId) => oneRow(statements.takenBackBy, { release_id: releaseId }),
    reinstate: (releaseId, now) => {
      statements.reinstate.run({ release_id: releaseId, now });
    },
    stoppedBy: () => oneRow(statements.stops, {}),
    stops: () => allRows(statements.stops, {}),
    resume: (nowSeconds) => Number(statements.resume.run({ now: nowSeconds }).changes) > 0,
  };
}

const SQL = {
  get: 'SELECT * FROM localized_rollback WHERE task_id = :task_id',
  begin: `INSERT INTO localized_rollback (${BEGUN.join(', ')}) VALUES (${BEGUN.map((column) => `:${column}`).join(', ')})`,
  switched:
    'UPDATE localized_rollback SET switched_at = coalesce(switched_at, :now) WHERE task_id = :task_id',
  finish: `UPDATE localized_rollback SET held_units = coalesce(held_units, :held_units) WHERE task_id = :task_id`,
  unrecorded: `SELECT * FROM (SELECT * FROM localized_rollback ORDER BY at DESC, task_id DESC LIMIT 1)
    WHERE switched_at IS NULL AND resumed_at IS NULL`,
  unfinished: `SELECT * FROM localized_rollback WHERE switched_at IS NOT NULL AND held_units IS NULL
    ORDER BY at, task_id LIMIT 100`,
  takenBackBy: `SELECT at, reviewer, reason FROM localized_rollback WHERE from_release_id = :release_id
    AND switched_at IS NOT NULL AND reinstated_at IS NULL ORDER BY at DESC LIMIT 1`,
  reinstate: `UPDATE localized_rollback SET reinstated_at = :now WHERE from_release_id = :release_id
    AND switched_at IS NOT NULL AND reinstated_at IS NULL`,
  stops: 'SELECT * FROM localized_rollback WHERE resumed_at IS NULL ORDER BY at DESC, task_id DESC LIMIT 2',
  resume: 'UPDATE localized_rollback SET resumed_at = :now WHERE resumed_at IS NULL',
} as const;
