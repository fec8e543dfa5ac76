import { countText } from '../../domain/count-text.ts';
import type { DoctorFinding } from '../../engine/check.ts';
import type { KindHistory } from '../../engine/tasks/task-reads.ts';
import { isCurrentIndex, type IndexStatus } from './index/index-status.ts';
import type { RulesState } from './rules/load-rules.ts';
import type { IndexReplacement } from './run/index-replaced.ts';

export interface ParseFacts {
  readonly rules: RulesState;
  readonly status: IndexStatus | null;
  readonly replacement: IndexReplacement | null;
  readonly currentReleaseId: string | null;
  readonly history: KindHistory;
  readonly isRunning: boolean;
  readonly isAutomatic: boolean;
}

/**
 * Judges the parse index: unusable rules first, because no run can succeed with them. An index of the current release and
 * rules is good, whatever happened before.
 */
export function parseFinding(facts: ParseFacts): DoctorFinding {
  const { rules, status, currentReleaseId, history } = facts;
  if (!rules.ok) {
    return {
      status: 'degraded',
      message: `the rules of parsing cannot be used: rules_invalid: ${rules.error.join('; ')}; correct them and run "slipway ctl run reload"`,
    };
  }
  if (currentReleaseId === null)
    return { status: 'ok', message: 'there is no official release to index yet' };
  if (status !== null && isCurrentIndex(status, currentReleaseId, rules.value)) {
    return { status: 'ok', message: describeIndex(status) };
  }
  if (history.consecutiveFailures > 0) return failedRun(facts);
  return missingIndex(facts, currentReleaseId);
}

function failedRun({ history }: ParseFacts): DoctorFinding {
  const { failure_code: code, failure_reason: reason } = history.last ?? {};
  return {
    status: 'degraded',
    message: `the text of the current release is not indexed: ${code ?? 'failed'}: ${reason ?? ''}; run "slipway ctl parse" when the cause is gone`,
    ...(history.failingSince === null ? {} : { since: history.failingSince }),
  };
}

function missingIndex(
  { status, replacement, isRunning, isAutomatic }: ParseFacts,
  releaseId: string,
): DoctorFinding {
  const shown = status?.release_id ?? null;
  const what =
    shown === releaseId
      ? `the text of ${releaseId} is not indexed with the current rules and parser`
      : `the text of ${releaseId} is not indexed`;
  const why = shown === null && replacement !== null ? `, because ${replacement.reason}` : '';
  const before = shown === null || shown === releaseId ? '' : `; reports show ${shown} until then`;
  if (isRunning) return { status: 'ok', message: `the text of ${releaseId} is being indexed${why}${before}` };
  if (!isAutomatic) {
    return {
      status: 'ok',
      message: `${what}${why}; parse.automatic is off, so run "slipway ctl parse"${before}`,
    };
  }
  return { status: 'degraded', message: `${what}${why}; run "slipway ctl parse"${before}` };
}

function describeIndex({ release_id, units, containers, by_parse_status, errors }: IndexStatus): string {
  const failed = (by_parse_status['failed'] ?? 0) + (by_parse_status['partial'] ?? 0);
  const problems =
    failed === 0
      ? ''
      : `; ${countText(failed, 'container was', 'containers were')} not read completely (${countText(errors, 'error')}, see parse.errors)`;
  return `${countText(units, 'text unit')} in ${countText(containers, 'container')} of ${release_id}${problems}`;
}
