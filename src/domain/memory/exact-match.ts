import {
  HIGHEST_INEXACT_SCORE,
  MATCH_SCORES,
  penalize,
  suggestMatch,
  type MatchRecord,
  type MemoryMatch,
} from './memory-match.ts';
import { normalText } from '../text/normal-text.ts';

/** The records whose normalized source equals that of a query. */
interface ExactRecords<R extends MatchRecord> {
  readonly contextKey: string;
  readonly records: readonly R[];
  /** Whether there are no further trusted records of other contexts. */
  readonly isComplete: boolean;
}

/** Points that a trusted record loses which has the same source, but which a more fitting record precedes. */
const OTHER_CONTEXT_POINTS = 5;

/**
 * Judges the records whose source equals that of a query. The trusted records of the same context decide; where there is
 * none, the default records; where there is none either, those of all other contexts together. The deciding records are
 * reused when they have one target, and are a conflict when they have several. All other records are suggestions.
 */
export function judgeExact<R extends MatchRecord>({
  contextKey,
  records,
  isComplete,
}: ExactRecords<R>): MemoryMatch<R>[] {
  const trusted = records.filter(({ state }) => state === 'trusted');
  const own = contextKey === '' ? [] : trusted.filter((record) => record.context_key === contextKey);
  const defaults = trusted.filter((record) => record.is_default);
  const deciding = [own, defaults, trusted].find((group) => group.length > 0) ?? [];
  const isCertain = deciding !== trusted || isComplete;
  const hasOneTarget = isCertain && haveOneTarget(deciding);
  const type = deciding === own ? 'context' : 'exact';
  return records.map((record) => {
    if (record.state !== 'trusted')
      return suggestMatch(record, { match_type: 'exact', score: MATCH_SCORES.exact });
    if (!deciding.includes(record)) {
      const other = suggestMatch(record, { match_type: 'exact', score: MATCH_SCORES.exact });
      return penalize(other, 'other_context', OTHER_CONTEXT_POINTS);
    }
    const score = MATCH_SCORES[type];
    const match = { ...suggestMatch(record, { match_type: type, score }), decision: 'reuse' } as const;
    if (hasOneTarget) return match;
    const points = score - HIGHEST_INEXACT_SCORE;
    return { ...penalize(match, 'multiple_translations', points), decision: 'conflict' };
  });
}

function haveOneTarget(records: readonly MatchRecord[]): boolean {
  // The usual case, for which no text is normalized.
  if (records.length < 2) return records.length === 1;
  return new Set(records.map(({ target_text }) => normalText(target_text))).size === 1;
}
