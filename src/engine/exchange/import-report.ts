interface ImportIssue {
  /** From 1. */
  readonly line: number;
  readonly outcome: string;
  readonly message: string;
}

/** Counts the outcomes of an import, and keeps its first issues. */
export interface ImportReport<Outcome extends string> {
  /** @param message for people; without one, the record is only counted */
  add(line: number, outcome: Outcome, message?: string): void;
  /** Lists what concerns the whole file, and counts nothing. */
  note(line: number, outcome: Outcome, message: string): void;
  /** Counts and lists a remark on a record that was imported. Remarks are listed after all issues. */
  remark(line: number, outcome: Outcome, message: string): void;
  result(): {
    readonly counts: Readonly<Record<Outcome, number>>;
    readonly issues: readonly ImportIssue[];
    /** Issues that are counted but not listed. */
    readonly issues_left_out: number;
  };
}

/** Most issues that a report lists. */
const MAX_ISSUES = 200;
const MAX_MESSAGE_CHARACTERS = 400;

/** Creates an empty report. @param outcomes every outcome, in the order of the report */
export function createImportReport<Outcome extends string>(
  outcomes: readonly Outcome[],
): ImportReport<Outcome> {
  const counts = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
  const issues: ImportIssue[] = [];
  const remarks: ImportIssue[] = [];
  let total = 0;
  const list = (to: ImportIssue[], line: number, outcome: Outcome, message: string): void => {
    total += 1;
    if (to.length === MAX_ISSUES) return;
    to.push({ line, outcome, message: message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed() });
  };
  return {
    add: (line, outcome, message) => {
      counts[outcome] += 1;
      if (message !== undefined) list(issues, line, outcome, message);
    },
    note: (line, outcome, message) => {
      list(issues, line, outcome, message);
    },
    remark: (line, outcome, message) => {
      counts[outcome] += 1;
      list(remarks, line, outcome, message);
    },
    result: () => {
      const byLine = remarks.toSorted((left, right) => left.line - right.line);
      const listed = [...issues, ...byLine].slice(0, MAX_ISSUES);
      return { counts, issues: listed, issues_left_out: total - listed.length };
    },
  };
}

/** How a message names the first issue: after the words that say what is wrong. Empty without an issue. */
export function firstIssue({ issues: [first] }: { issues: readonly ImportIssue[] }): string {
  return first === undefined ? '' : `, the first one: line ${first.line}: ${first.message}`;
}
