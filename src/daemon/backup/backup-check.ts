import { instant } from '../../domain/instant.ts';
import { isInFuture } from '../../domain/verdict/attestation.ts';
import { countText } from '../../domain/count-text.ts';
import type { DoctorFinding } from '../../engine/check.ts';
import type { KindHistory } from '../../engine/tasks/task-reads.ts';
import type { CompleteBackup } from './backup-list.ts';

/** The facts from which the doctor judges backups. */
export interface BackupFacts {
  /** Whether at least one database has a file. */
  readonly isNeeded: boolean;
  readonly folder: string;
  readonly newest: CompleteBackup | null;
  readonly history: KindHistory;
  /** 0: none are scheduled. */
  readonly intervalSeconds: number;
  /** When the next backup is planned, Unix seconds, or `null`. */
  readonly plannedAt: number | null;
  /** Unix seconds. */
  readonly now: number;
}

/** Judges backups: a failed last one and an old newest one need attention. */
export function backupFinding(facts: BackupFacts): DoctorFinding {
  const { isNeeded, newest, history, intervalSeconds, now } = facts;
  if (!isNeeded) return { status: 'ok', message: 'there is no database to back up yet', evaluated: false };
  if (history.consecutiveFailures > 0) return failedBackup(facts);
  if (newest === null) return noBackup(facts);
  const text = describe(newest, now);
  if (isInFuture(newest.created_at, now)) {
    return {
      status: 'degraded',
      message: `${text}; it is dated in the future, so its age is not known; see the check clock, then run backup`,
    };
  }
  if (intervalSeconds > 0 && now - newest.created_at > 2 * intervalSeconds) {
    return { status: 'degraded', message: `${text}, older than two intervals; see "slipway ctl schedules"` };
  }
  return { status: 'ok', message: `${text} in ${facts.folder}` };
}

function failedBackup({ history, newest, now }: BackupFacts): DoctorFinding {
  const { failure_code: code, failure_reason: reason } = history.last ?? {};
  const last = newest === null ? 'there is no complete backup' : describe(newest, now);
  return {
    status: 'degraded',
    message: `the last backup failed: ${code ?? 'failed'}: ${reason ?? ''}; ${last}`,
    ...(history.failingSince === null ? {} : { since: history.failingSince }),
  };
}

function noBackup({ folder, intervalSeconds, plannedAt }: BackupFacts): DoctorFinding {
  if (intervalSeconds === 0) {
    return {
      status: 'ok',
      message: `no backup in ${folder}; backup.intervalSeconds is 0, so none is planned`,
      evaluated: false,
    };
  }
  if (plannedAt === null) {
    return {
      status: 'degraded',
      message: `no backup in ${folder}, and none is planned; see "slipway ctl schedules"`,
    };
  }
  return {
    status: 'ok',
    message: `no backup in ${folder} yet; the next one is planned for ${instant(plannedAt)}`,
    evaluated: false,
  };
}

function describe({ name, created_at: at }: CompleteBackup, now: number): string {
  const hours = Math.floor((now - at) / 3600);
  const age = isInFuture(at, now) ? '' : `, ${countText(Math.max(0, hours), 'hour')} ago`;
  return `the newest complete backup is ${name} of ${instant(at)}${age}`;
}
