import { allRows, type SqlDatabase } from './sql.ts';

export interface ProbeResult {
  readonly label: string;
  readonly ok: boolean;
  readonly message: string;
  /** Unix seconds. */
  readonly checkedAt: number;
}

export interface ProbeRepository {
  record(result: ProbeResult): void;
  list(): readonly ProbeResult[];
}

const MESSAGE_MAX = 1000;

export function createProbeRepository(database: SqlDatabase): ProbeRepository {
  const upsert = database.prepare(
    `INSERT INTO upstream_probe (upstream_label, ok, message, checked_at)
     VALUES (:label, :ok, :message, :checked_at)
     ON CONFLICT (upstream_label) DO UPDATE SET ok = excluded.ok, message = excluded.message,
       checked_at = excluded.checked_at`,
  );
  const list = database.prepare('SELECT * FROM upstream_probe ORDER BY checked_at DESC LIMIT 16');
  return {
    record: (result) =>
      void upsert.run({
        label: result.label,
        ok: result.ok ? 1 : 0,
        message: result.message.slice(0, MESSAGE_MAX),
        checked_at: result.checkedAt,
      }),
    list: () =>
      allRows<{ upstream_label: string; ok: number; message: string; checked_at: number }>(list, {}).map(
        (row) => ({
          label: row.upstream_label,
          ok: row.ok === 1,
          message: row.message,
          checkedAt: row.checked_at,
        }),
      ),
  };
}
