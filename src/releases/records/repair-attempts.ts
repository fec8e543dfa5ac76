import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ReleaseKey } from './release-row.ts';
import { allRows, oneRow, type SqlDatabase } from './sql.ts';

/** Milliseconds after the next attempt was due from which earlier attempts no longer count. */
const FORGET_MS = 3_600_000;

/** Upstream as a whole. Its failed attempts delay the repair of every object. */
export const UPSTREAM_SUBJECT = 'upstream';

/** The target of a repair: an object by its digest, the manifest and the record of a release, or upstream. */
export type RepairSubject = Blake3Hex | `${ReleaseKey['channel']}/${string}` | typeof UPSTREAM_SUBJECT;

export interface RepairAttempt {
  readonly subject: RepairSubject;
  readonly problem: string | null;
  readonly nowMs: number;
  readonly nextAtMs: number;
}

interface FailedRepair {
  /** The file; `null` for the manifest or the record of the release. */
  readonly destination: string | null;
  readonly problem: string;
  /** Unix seconds. */
  readonly tried_at: number;
  /** Unix milliseconds. */
  readonly next_at_ms: number;
}

/**
 * The attempts to repair what the damage records name. Damage without an attempt is due immediately. Rows outlive the
 * damage for a while, so that damage that comes back is repaired with growing waits.
 */
export interface RepairAttempts {
  /**
   * Damaged objects whose next attempt is due: first those that the database has, then the others, each ordered by
   * digest. While upstream as a whole is not due, only those that the database has.
   */
  dueObjects(nowMs: number, limit: number): readonly Blake3Hex[];
  isDue(subject: RepairSubject, nowMs: number): boolean;
  /** When the next attempt is due, Unix milliseconds; 0 for damage without an attempt, `null` without damage. */
  nextAtMs(): number | null;
  count(subject: RepairSubject, nowMs: number): number;
  record(attempts: readonly RepairAttempt[]): void;
  forgetUpstream(): void;
  /**
   * The newest failed attempt of a release's own manifest, record or files, whose damage remains. An attempt from before the
   * damage was found had another cause, and something else has repaired it.
   */
  lastFailureOf(release: ReleaseKey): FailedRepair | null;
  forgetOld(nowMs: number): void;
}

/** The name of a release's manifest and record as the subject of a repair. */
export function manifestSubject({ channel, release_id }: ReleaseKey): RepairSubject {
  return `${channel}/${release_id}`;
}

export function createRepairAttempts(database: SqlDatabase): RepairAttempts {
  const upstreamNextAt = `ifnull((SELECT next_at_ms FROM repair_attempt WHERE subject = '${UPSTREAM_SUBJECT}'), 0)`;
  // Server-info documents are restored from the catalog, without a request to upstream.
  const isStored = (blake3: string): string =>
    `${blake3} IN (SELECT r.server_info_blake3 FROM release r JOIN catalog_revision c USING (revision_id)
       WHERE r.state <> 'deleted' AND c.server_info IS NOT NULL)`;
  const damaged = `
    (SELECT blake3 AS subject, iif(${isStored('blake3')}, 0, ${upstreamNextAt}) AS not_before_ms,
       min(found_at) AS found_at FROM damaged_entry GROUP BY blake3
     UNION ALL
     SELECT channel || '/' || release_id, 0, damaged_at FROM release
       WHERE state = 'damaged' AND damage_message IS NOT NULL)`;
  const due = database.prepare(
    `SELECT DISTINCT d.blake3, ${isStored('d.blake3')} AS is_stored
     FROM damaged_entry d LEFT JOIN repair_attempt a ON a.subject = d.blake3
     WHERE ifnull(a.next_at_ms, 0) <= :now AND (is_stored OR ${upstreamNextAt} <= :now)
     ORDER BY is_stored DESC, d.blake3 LIMIT :limit`,
  );
  const find = database.prepare('SELECT attempts, next_at_ms FROM repair_attempt WHERE subject = :subject');
  const next = database.prepare(
    `SELECT min(max(ifnull(a.next_at_ms, 0), d.not_before_ms)) AS at
     FROM ${damaged} d LEFT JOIN repair_attempt a USING (subject)`,
  );
  const upsert = database.prepare(
    `INSERT INTO repair_attempt (subject, attempts, tried_at, next_at_ms, problem)
     VALUES (:subject, :attempts, :tried_at, :next_at_ms, :problem)
     ON CONFLICT (subject) DO UPDATE SET attempts = excluded.attempts, tried_at = excluded.tried_at,
       next_at_ms = excluded.next_at_ms, problem = excluded.problem`,
  );
  const failureOf = database.prepare(
    `SELECT a.problem, a.tried_at, a.next_at_ms,
       (SELECT min(destination) FROM damaged_entry WHERE blake3 = a.subject AND channel = :channel AND release_id = :release_id) AS destination
     FROM repair_attempt a JOIN ${damaged} d USING (subject)
     WHERE a.problem IS NOT NULL AND a.tried_at >= d.found_at AND (a.subject = :manifest OR a.subject IN
       (SELECT blake3 FROM damaged_entry WHERE channel = :channel AND release_id = :release_id))
     ORDER BY a.tried_at DESC, a.next_at_ms LIMIT 1`,
  );
  const forget = database.prepare('DELETE FROM repair_attempt WHERE next_at_ms < :before');
  const forgetSubject = database.prepare('DELETE FROM repair_attempt WHERE subject = :subject');

  const row = (subject: RepairSubject): { readonly attempts: number; readonly next_at_ms: number } | null =>
    oneRow(find, { subject });
  const count = (subject: RepairSubject, nowMs: number): number => {
    const known = row(subject);
    return known === null || known.next_at_ms < nowMs - FORGET_MS ? 0 : known.attempts;
  };
  return {
    dueObjects: (nowMs, limit) =>
      allRows<{ readonly blake3: Blake3Hex }>(due, { now: nowMs, limit }).map(({ blake3 }) => blake3),
    isDue: (subject, nowMs) => (row(subject)?.next_at_ms ?? 0) <= nowMs,
    nextAtMs: () => oneRow<{ readonly at: number | null }>(next, {})?.at ?? null,
    count,
    record: (attempts) => {
      if (attempts.length === 0) return;
      database.transaction(() => {
        for (const { subject, problem, nowMs, nextAtMs } of attempts) {
          upsert.run({
            subject,
            attempts: count(subject, nowMs) + 1,
            tried_at: Math.floor(nowMs / 1000),
            next_at_ms: nextAtMs,
            problem,
          });
        }
      });
    },
    forgetUpstream: () => void forgetSubject.run({ subject: UPSTREAM_SUBJECT }),
    lastFailureOf: ({ channel, release_id }) =>
      oneRow<FailedRepair>(failureOf, {
        manifest: manifestSubject({ channel, release_id }),
        channel,
        release_id,
      }),
    forgetOld: (nowMs) => void forget.run({ before: nowMs - FORGET_MS }),
  };
}
