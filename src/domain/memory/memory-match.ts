import type { MemoryRecord } from './memory-record.ts';

/** The use of a match, or of all matches of a query. Only `reuse` needs no person. */
export type MatchDecision = 'reuse' | 'conflict' | 'suggest';

type MatchType = 'context' | 'exact' | 'normalized' | 'numbers' | 'fuzzy' | 'concordance';

type PenaltyCode =
  | 'candidate'
  | 'other_context'
  | 'multiple_translations'
  | 'width_difference'
  | 'numbers_differ'
  | 'file'
  | 'qa_blocked';

interface Penalty {
  readonly code: PenaltyCode;
  readonly points: number;
}

/** The part of a record from which a match is judged. */
export interface MatchRecord {
  readonly record_id: string;
  readonly state: MemoryRecord['state'];
  readonly source_text: string;
  readonly target_text: string;
  readonly context_key: string;
  readonly is_default: boolean;
}

export interface MemoryMatch<R extends MatchRecord = MatchRecord> {
  readonly record: R;
  readonly match_type: MatchType;
  /** 0 to 101. */
  readonly score: number;
  readonly decision: MatchDecision;
  readonly penalties: readonly Penalty[];
  /** The translation that is offered: the target of the record, with the numbers of the query for `numbers`. */
  readonly proposed_text: string;
}

/** Score of a match by type before penalties; a fuzzy match scores its similarity. */
export const MATCH_SCORES = { context: 101, exact: 100 } as const;
/** Highest score of a text that is not equal. */
export const HIGHEST_INEXACT_SCORE = 99;
/** Lowest similarity of a fuzzy match, in percent, before the factors of state and context. */
export const LOWEST_SIMILARITY = 75;
/** Lowest score of a match that is reused. */
const LOWEST_REUSED_SCORE = 100;
const CANDIDATE_FACTOR = 0.7;
const OTHER_CONTEXT_FACTOR = 0.95;

/** Makes a suggestion from a record whose source is not equal, or that nobody confirmed. */
export function suggestMatch<R extends MatchRecord>(
  record: R,
  kind: {
    readonly match_type: MatchType;
    readonly score: number;
    readonly penalties?: readonly Penalty[];
    readonly proposed_text?: string;
    readonly contextKey?: string | null;
  },
): MemoryMatch<R> {
  const penalties = [...(kind.penalties ?? [])];
  let { score } = kind;
  const lower = (code: PenaltyCode, factor: number): void => {
    const lowered = Math.floor(score * factor);
    penalties.push({ code, points: score - lowered });
    score = lowered;
  };
  if (record.state === 'candidate') lower('candidate', CANDIDATE_FACTOR);
  const { contextKey = null } = kind;
  if (contextKey !== null && !record.is_default && record.context_key !== contextKey) {
    lower('other_context', OTHER_CONTEXT_FACTOR);
  }
  return {
    record,
    match_type: kind.match_type,
    score,
    decision: 'suggest',
    penalties,
    proposed_text: kind.proposed_text ?? record.target_text,
  };
}

/** Lowers a match by points; a match below 100 is no longer reused. */
export function penalize<R extends MatchRecord>(
  match: MemoryMatch<R>,
  code: PenaltyCode,
  points: number,
): MemoryMatch<R> {
  if (points === 0) return match;
  const score = Math.max(0, match.score - points);
  const decision = match.decision === 'reuse' && score < LOWEST_REUSED_SCORE ? 'suggest' : match.decision;
  return { ...match, score, decision, penalties: [...match.penalties, { code, points }] };
}

/** The match of a target that fails a blocking check: it is shown, and not reused. Other matches stay as they are. */
export function withholdReuse<R extends MatchRecord>(match: MemoryMatch<R>): MemoryMatch<R> {
  if (match.decision !== 'reuse') return match;
  return penalize(match, 'qa_blocked', match.score - HIGHEST_INEXACT_SCORE);
}

/** Orders matches: the highest score first, then trusted ones, then the newest. */
export function orderMatches<R extends MatchRecord>(matches: readonly MemoryMatch<R>[]): MemoryMatch<R>[] {
  return matches.toSorted(
    (left, right) =>
      right.score - left.score ||
      Number(right.record.state === 'trusted') - Number(left.record.state === 'trusted') ||
      (left.record.record_id < right.record.record_id ? 1 : -1),
  );
}

/** The decision of a query: reuse when a match is reused, else a conflict, else a suggestion, else nothing. */
export function decide(matches: readonly MemoryMatch[]): MatchDecision | 'none' {
  const order = ['reuse', 'conflict', 'suggest'] as const;
  return order.find((decision) => matches.some((match) => match.decision === decision)) ?? 'none';
}
