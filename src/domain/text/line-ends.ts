const LINE_END = /\r\n|\r|\n/g;

/** Whether two texts differ in their line ends at most. */
export function isSameButLineEnds(left: string, right: string): boolean {
  return left.replaceAll(LINE_END, '\n') === right.replaceAll(LINE_END, '\n');
}

/** A text with the line ends of another one; unchanged where that one has none, or several kinds. */
export function withLineEndsOf(text: string, model: string): string {
  const [kind, other] = new Set(model.match(LINE_END));
  return kind === undefined || other !== undefined ? text : text.replaceAll(LINE_END, kind);
}

/** A text with each kind of line end; none for a text without line ends. */
export function lineEndForms(text: string): readonly string[] {
  return text.search(LINE_END) === -1
    ? []
    : ['\n', '\r\n', '\r'].map((kind) => text.replaceAll(LINE_END, kind));
}

/**
 * The target that a table means, whose line ends a spreadsheet may have changed: the stored one where only line ends differ, else the
 * text with the line ends of the source.
 *
 * @param stored the target of the unit; `null` without one
 * @param source of the unit where the table has it with other line ends; otherwise `null`
 */
export function targetOfTable(text: string, stored: string | null, source: string | null): string {
  if (stored !== null && isSameButLineEnds(stored, text)) return stored;
  return source === null ? text : withLineEndsOf(text, source);
}
