import type { ReadPlace } from '../../../exchange/units/unit-record.ts';

/** The outcomes of units of a file, in the words for people. */
export const OUTCOMES = {
  stored: { isProblem: false, text: 'its target is stored' },
  stored_blocked: { isProblem: false, text: 'its target is stored; its findings block it' },
  unchanged: { isProblem: false, text: 'the service has this target already' },
  unchanged_blocked: {
    isProblem: false,
    text: 'the service has this target already; its findings block it',
  },
  untouched: {
    isProblem: false,
    text: 'someone has changed it since the export, and the file has not: kept',
  },
  no_target: { isProblem: false, text: 'the file has no target' },
  unreadable: { isProblem: true, text: 'cannot be read' },
  unknown_unit: { isProblem: true, text: 'the release has no such text' },
  ambiguous: { isProblem: true, text: 'the release has several such texts' },
  duplicate: { isProblem: true, text: 'the file has another target for it' },
  source_changed: { isProblem: true, text: 'the source in the file is not that of the release' },
  conflict: { isProblem: true, text: 'someone has changed it since the export' },
  claimed: { isProblem: true, text: 'someone works on it now' },
  too_long: { isProblem: true, text: 'too long for one call' },
  task_closed: { isProblem: true, text: 'its task takes no targets' },
  blocked: { isProblem: true, text: 'its findings block it' },
  refused: { isProblem: true, text: 'the daemon refused it' },
  ready_blocked: { isProblem: false, text: 'could be stored; its findings would block it' },
  ready: { isProblem: false, text: 'could be stored' },
  not_sent: { isProblem: false, text: 'left as it is, because of the problems of others' },
} as const satisfies Record<string, { isProblem: boolean; text: string }>;

/** One of {@link OUTCOMES}. */
export type Outcome = keyof typeof OUTCOMES;

/** A unit of a file, as its outcome names it. */
export interface UnitOfFile extends ReadPlace {
  readonly file_unit_id: string | null;
  /** What a spreadsheet has changed, or may have changed. */
  readonly remark?: string;
}

/** The outcome of one unit of a file. */
export interface UnitOutcome extends UnitOfFile {
  /** As in the service; `null` where it was not found. */
  readonly unit_id: string | null;
  readonly outcome: Outcome;
  readonly detail: string;
  /** How the unit was found; `null` when it was not. */
  readonly matched_by: 'id' | 'place' | 'source' | null;
  readonly task_id: string | null;
  readonly findings: readonly SentFinding[];
}

/** A finding of the daemon. */
export interface SentFinding {
  readonly check: string;
  readonly severity: string;
  readonly message: string;
}

/** Findings in one line. */
export function findingsText(findings: readonly SentFinding[]): string {
  return findings.map(({ check, message }) => `${check}: ${message}`).join('; ');
}

/** The findings of a blocked target in words, remarks apart from what blocks it. */
export function blockingText(findings: readonly SentFinding[]): string {
  const errors = findings.filter(({ severity }) => severity === 'error');
  const remarks = findings.filter(({ severity }) => severity !== 'error');
  const text = findingsText(errors);
  return remarks.length === 0 ? text : `${text} (not blocking: ${findingsText(remarks)})`;
}

/** Whether an outcome is a problem of the unit. */
export function isProblem(outcome: Outcome): boolean {
  return OUTCOMES[outcome].isProblem;
}

/** Units by outcome, in the order of the table. */
export function countOutcomes(outcomes: readonly UnitOutcome[]): Partial<Record<Outcome, number>> {
  const counts: Partial<Record<Outcome, number>> = {};
  const found = Map.groupBy(outcomes, ({ outcome }) => outcome);
  for (const name of Object.keys(OUTCOMES) as Outcome[]) {
    const units = found.get(name)?.length ?? 0;
    if (units > 0) counts[name] = units;
  }
  return counts;
}
