import { describe, expect, it } from 'vitest';
import { backupFinding, type BackupFacts } from '../../../../src/daemon/backup/backup-check.ts';
import type { StoredBackup } from '../../../../src/daemon/backup/backup-list.ts';
import { oldBackups } from '../../../../src/daemon/backup/old-backups.ts';
import type { Task } from '../../../../src/daemon/tasks/task.ts';

const NOW = 1_700_000_000;
const FACTS: BackupFacts = {
  isNeeded: true,
  folder: '/backups',
  newest: { name: 'backup-a', created_at: NOW - 7200, bytes: 10 },
  history: { last: null, consecutiveFailures: 0, failingSince: null },
  intervalSeconds: 86_400,
  plannedAt: NOW + 60,
  now: NOW,
};
const FAILED = { failure_code: 'backup_no_space', failure_reason: 'full' } as Task;

describe('the check of backups', () => {
  it.each([
    ['a fresh one', {}, 'ok', 'backup-a of 2023-11-14T20:13:20.000Z, 2 hours ago'],
    [
      'one of the future',
      { newest: { name: 'backup-a', created_at: NOW + 3600, bytes: 10 } },
      'degraded',
      'dated in the future, so its age is not known',
    ],
    ['nothing to copy', { isNeeded: false, newest: null }, 'ok', 'no database to back up yet'],
    ['none yet', { newest: null }, 'ok', 'the next one is planned for 2023-11-14T22:14:20.000Z'],
    ['none planned', { newest: null, plannedAt: null }, 'degraded', 'none is planned'],
    ['no schedule by choice', { newest: null, intervalSeconds: 0 }, 'ok', 'backup.intervalSeconds is 0'],
    ['an old one', { now: NOW + 2 * 86_400 }, 'degraded', '50 hours ago, older than two intervals'],
    ['an old one without a schedule', { now: NOW + 2 * 86_400, intervalSeconds: 0 }, 'ok', '50 hours ago'],
    [
      'a failure',
      { history: { last: FAILED, consecutiveFailures: 1, failingSince: NOW - 5 } },
      'degraded',
      'the last backup failed: backup_no_space: full; the newest complete backup is backup-a',
    ],
    [
      'a failure without a backup',
      { newest: null, history: { last: FAILED, consecutiveFailures: 1, failingSince: NOW - 5 } },
      'degraded',
      'there is no complete backup',
    ],
  ] as const)('judges %s', (_name, over, status, message) => {
    const finding = backupFinding({ ...FACTS, ...over });
    expect(finding).toMatchObject({ status, message: expect.stringContaining(message) as unknown });
    if ('history' in over) expect(finding.since).toBe(NOW - 5);
    const isJudged = status === 'degraded' || !('newest' in over);
    expect(finding.evaluated ?? true).toBe(isJudged);
  });
});

describe('old backups', () => {
  const stored = (name: string, databases: string): StoredBackup => ({
    name,
    manifest: {
      format: 'slipway-backup/1',
      created_at: NOW,
      databases: databases
        .split('')
        .map((each) => ({ name: each, file: `${each}.db`, bytes: 1, blake3: '' })),
      missing: [],
      failed: [],
    },
  });

  it.each([
    [1, ['a:m'], []],
    [1, ['c:mg', 'b:mg', 'a:mg'], ['a', 'b']],
    [2, ['c:mg', 'b:mg', 'a:mg'], ['a']],
    [1, ['d:m', 'c:m', 'b:mg', 'a:mg'], ['a', 'c']],
    [2, ['d:m', 'c:g', 'b:g', 'a:m'], []],
  ] as const)('beyond %i copies of each database of %j are %j', (keep, rows, expected) => {
    const backups = rows.map((row) => stored(row.slice(0, 1), row.slice(2)));
    expect(oldBackups(backups, keep)).toEqual(expected);
  });
});
