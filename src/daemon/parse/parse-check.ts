import type { DoctorFinding } from '../reports/doctor-report.ts';
import type { KindHistory } from '../tasks/task-reads.ts';
import type { IndexStatus } from './index/index-status.ts';

/** The facts from which the doctor judges the parse index. */
export interface ParseFacts {
  /** The index as it was last read; `null` before that. */
  readonly status: IndexStatus | null;
  /** The current official release, or `null`. */
  readonly currentReleaseId: string | null;
  readonly history: Pick<KindHistory, 'last' | 'consecutiveFailures' | 'failingSince'>;
  /** Whether a run is queued or in progress. */
  readonly isRunning: boolean;
  /** Whether releases are parsed by themselves. */
  readonly isAutomatic: boolean;
}

/** Judges the parse index. */
export function parseFinding(facts: ParseFacts): DoctorFinding {
  const { status, currentReleaseId, history, isRunning, isAutomatic } = facts;
  if (history.consecutiveFailures > 0) {
    const { failure_code: code, failure_reason: reason } = history.last ?? {};
    return {
      status: 'degraded',
      message: `the text of the current release is not indexed: ${code ?? 'failed'}: ${reason ?? ''}; run "slipway ctl parse" when the cause is gone`,
      ...(history.failingSince === null ? {} : { since: history.failingSince }),
    };
  }
  if (currentReleaseId === null)
    return { status: 'ok', message: 'there is no official release to index yet' };
  if (status?.release_id === currentReleaseId) return { status: 'ok', message: describeIndex(status) };
  const shown = status?.release_id ?? null;
  const before = shown === null ? '' : `; reports show ${shown} until then`;
  if (isRunning)
    return { status: 'ok', message: `the text of ${currentReleaseId} is being indexed${before}` };
  if (!isAutomatic) {
    return {
      status: 'ok',
      message: `the text of ${currentReleaseId} is not indexed, because parse.automatic is off; run "slipway ctl parse"${before}`,
    };
  }
  return {
    status: 'degraded',
    message: `the text of ${currentReleaseId} is not indexed; run "slipway ctl parse"${before}`,
  };
}

function describeIndex({ release_id, units, containers, by_parse_status, errors }: IndexStatus): string {
  const failed = (by_parse_status['failed'] ?? 0) + (by_parse_status['partial'] ?? 0);
  const problems =
    failed === 0
      ? ''
      : `; ${failed} containers were not read completely (${errors} errors, see parse.errors)`;
  return `${units} text units in ${containers} containers of ${release_id}${problems}`;
}
