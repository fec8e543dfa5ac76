import type { ScheduleGroup } from '../../contract/schemas/vocabulary.ts';
import { MAIN_TABLES } from '../database/main-tables.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { ReportedSchedule, Schedule } from './schedule.ts';

/** Selects the schedules of a list; `null` matches all. */
interface ScheduleFilter {
  readonly id: string | null;
  readonly group: ScheduleGroup | null;
  readonly enabled: boolean | null;
}

/** The schedule table. Single statements; callers group them. */
export interface ScheduleRepository {
  get(id: string): Schedule | null;
  /** Ordered by `id`. */
  list(filter: ScheduleFilter): readonly Schedule[];
  count(): number;
  insert(schedule: Schedule): void;
  /** Writes every column of the row with this id. */
  update(schedule: Schedule): void;
  /** @returns whether the schedule existed */
  remove(id: string): boolean;
  /** Ids of the enabled schedules due at `now`, longest due first. */
  due(now: number): readonly string[];
  /** When the next enabled schedule is due, Unix seconds. */
  nextDue(): number | null;
  /** When the next enabled schedule of this action that is not replaced is due, Unix seconds. */
  nextDueOf(action: string): number | null;
  /**
   * The id of the schedule of a ReleaseChannel that replaces a configured one, or `null`. It has the same action; for
   * `verify` also the same arguments, because each channel is verified by a schedule of its own. A disabled one replaces
   * the configured schedule as well, except for `verify`: without verification a release is soon no longer attested. Of
   * several an enabled one is returned.
   */
  replacementOf(schedule: Schedule): string | null;
  /** Records how the task of a schedule's last run ended. */
  recordStatus(taskId: string, status: string): void;
  /** Updates the status of every last run from the tasks that are still kept. */
  refreshStatuses(): void;
}

interface ScheduleRecord extends Omit<
  Schedule,
  'args' | 'enabled' | 'exhausted' | 'next_run_unix_seconds' | 'last_run_unix_seconds'
> {
  readonly args_json: string;
  readonly enabled: number;
  readonly exhausted: number;
  readonly next_run: number | null;
  readonly last_run: number | null;
}

const COLUMNS = Object.keys(MAIN_TABLES.schedule) as ReadonlyArray<keyof ScheduleRecord>;

/** Selects the schedule that replaces the configured schedule `own`; see `replacementOf`. */
const REPLACEMENT = `SELECT other.id FROM schedule AS other
  WHERE other.origin = 'controller' AND other.action = own.action
    AND (own.action <> 'verify' OR (other.enabled = 1 AND other.args_json = own.args_json))
  ORDER BY other.enabled DESC, other.id LIMIT 1`;

/** Creates the repository; every statement is compiled once. */
export function createScheduleRepository(database: Database): ScheduleRepository {
  const get = database.prepare('SELECT * FROM schedule WHERE id = :id');
  const list = database.prepare(
    `SELECT * FROM schedule WHERE (:id IS NULL OR id = :id) AND (:group IS NULL OR "group" = :group)
       AND (:enabled IS NULL OR enabled = :enabled) ORDER BY id`,
  );
  const count = database.prepare('SELECT count(*) AS count FROM schedule');
  const insert = database.prepare(
    `INSERT INTO schedule ("${COLUMNS.join('", "')}") VALUES (:${COLUMNS.join(', :')})`,
  );
  const update = database.prepare(
    `UPDATE schedule SET ${COLUMNS.map((name) => `"${name}" = :${name}`).join(', ')} WHERE id = :id`,
  );
  const remove = database.prepare('DELETE FROM schedule WHERE id = :id');
  const due = database.prepare(
    'SELECT id FROM schedule WHERE enabled = 1 AND next_run <= :now ORDER BY next_run, id',
  );
  const nextDue = database.prepare('SELECT min(next_run) AS next_run FROM schedule WHERE enabled = 1');
  const nextDueOf = database.prepare(
    `SELECT min(next_run) AS next_run FROM schedule AS own WHERE enabled = 1 AND action = :action
       AND NOT (origin = 'configured' AND EXISTS (${REPLACEMENT}))`,
  );
  const replacementOf = database.prepare(
    `SELECT (${REPLACEMENT}) AS id FROM schedule AS own WHERE id = :id AND origin = 'configured'`,
  );
  const recordStatus = database.prepare(
    'UPDATE schedule SET last_status = :status WHERE last_task_id = :task_id',
  );
  const refreshStatuses = database.prepare(
    `UPDATE schedule SET last_status =
       coalesce((SELECT status FROM task WHERE task.task_id = schedule.last_task_id), last_status)
     WHERE last_task_id IS NOT NULL`,
  );

  return {
    get: (id) => {
      const record = get.get({ id });
      return record === undefined ? null : scheduleOf(record as unknown as ScheduleRecord);
    },
    list: ({ id, group, enabled }) => {
      const rows = list.all({ id, group, enabled: enabled === null ? null : Number(enabled) });
      return (rows as unknown as ScheduleRecord[]).map(scheduleOf);
    },
    count: () => Number(count.get()?.['count'] ?? 0),
    insert: (schedule) => void insert.run(parametersOf(schedule)),
    update: (schedule) => void update.run(parametersOf(schedule)),
    remove: (id) => remove.run({ id }).changes > 0,
    due: (now) => (due.all({ now }) as unknown as Array<{ id: string }>).map(({ id }) => id),
    nextDue: () => (nextDue.get() as { next_run: number | null } | undefined)?.next_run ?? null,
    nextDueOf: (action) =>
      (nextDueOf.get({ action }) as { next_run: number | null } | undefined)?.next_run ?? null,
    replacementOf: ({ id }) => (replacementOf.get({ id }) as { id: string | null } | undefined)?.id ?? null,
    recordStatus: (taskId, status) => void recordStatus.run({ task_id: taskId, status }),
    refreshStatuses: () => void refreshStatuses.run(),
  };
}

function scheduleOf({
  args_json,
  enabled,
  exhausted,
  next_run,
  last_run,
  ...same
}: ScheduleRecord): Schedule {
  return {
    ...same,
    args: JSON.parse(args_json) as string[],
    enabled: enabled === 1,
    exhausted: exhausted === 1,
    next_run_unix_seconds: next_run,
    last_run_unix_seconds: last_run,
  };
}

function parametersOf(schedule: Schedule): Record<string, string | number | null> {
  const record: ScheduleRecord = {
    ...schedule,
    args_json: JSON.stringify(schedule.args),
    enabled: Number(schedule.enabled),
    exhausted: Number(schedule.exhausted),
    next_run: schedule.next_run_unix_seconds,
    last_run: schedule.last_run_unix_seconds,
  };
  return Object.fromEntries(COLUMNS.map((name) => [name, record[name]]));
}

/** Adds to a schedule what replaces it. */
export function reportedSchedule(schedule: Schedule, repository: ScheduleRepository): ReportedSchedule {
  return { ...schedule, replaced_by: repository.replacementOf(schedule) };
}
