import { CHECKS, type CheckName, type CheckSeverity } from './check-table.ts';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A flaw that a check found in a target. An `error` blocks the target unless it is waived. */
export interface Finding {
  readonly check: CheckName;
  readonly severity: CheckSeverity;
  readonly source_span: Span | null;
  readonly target_span: Span | null;
  readonly message: string;
  /** Whether a reviewer may accept the target with this finding. */
  readonly waivable: boolean;
}

/** A finding with the properties that the table gives its check. */
export function finding(
  check: CheckName,
  message: string,
  details: {
    readonly source?: Span | undefined;
    readonly target?: Span | undefined;
    readonly severity?: CheckSeverity | undefined;
  } = {},
): Finding {
  const { severity, waivable } = CHECKS[check];
  return {
    check,
    severity: details.severity ?? severity,
    source_span: spanOf(details.source),
    target_span: spanOf(details.target),
    message,
    waivable,
  };
}

/** Marks carry more than their span, and a finding goes into reports. */
function spanOf(part: Span | undefined): Span | null {
  return part === undefined ? null : { start: part.start, end: part.end };
}

const SHOWN_CHARACTERS = 60;

/** A text for a message: quoted, escaped, well-formed and cut to a length that fits a line. */
export function shown(text: string): string {
  const cut = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  return JSON.stringify(cut.toWellFormed()).replace(/[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    codePointName(character),
  );
}

/** The name of a character in the notation of Unicode, such as `U+200B`. */
export function codePointName(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}
