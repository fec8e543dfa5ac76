/** Something that a format could not carry. */
export interface ExportIssue {
  readonly id: string;
  readonly message: string;
}

/** Counts what an export wrote, and keeps the first refusals. */
export interface ExportReport {
  written(): void;
  refused(id: string, message: string): void;
  /** The JSON of the task's result. */
  result(): { readonly written: number; readonly refused: number; readonly issues: readonly ExportIssue[] };
}

/** Most refusals that a report lists. */
const MAX_ISSUES = 200;

/** Creates an empty report. */
export function createExportReport(): ExportReport {
  let written = 0;
  let refused = 0;
  const issues: ExportIssue[] = [];
  return {
    written: () => {
      written += 1;
    },
    refused: (id, message) => {
      refused += 1;
      if (issues.length < MAX_ISSUES) issues.push({ id, message });
    },
    result: () => ({ written, refused, issues }),
  };
}
