/** A text between the server and a text field, which knows one kind of line end only; pure. */

/** The text as a field holds it: each line end is a line feed. */
export function toField(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

/** The text of a field with the line ends of the source: a game may read only these. */
export function fromField(text: string, source: string): string {
  const lineEnd = /\r\n?|\n/.exec(source)?.[0] ?? '\n';
  return lineEnd === '\n' ? text : text.replaceAll('\n', lineEnd);
}

/** Where a place of a text is in the field; UTF-16 code units. */
export function fieldOffset(text: string, offset: number): number {
  return toField(text.slice(0, offset)).length;
}

/** The size of a text, as far as fields limit it. */
export interface TextSize {
  readonly characters: number;
  readonly lines: number;
}

/** Characters and lines of a text, as the checks count them. */
export function sizeOf(text: string): TextSize {
  let characters = 0;
  for (const _ of text) characters += 1;
  return { characters, lines: text === '' ? 0 : (text.match(/\r\n|[\n\r]|\\n|<br>/gi)?.length ?? 0) + 1 };
}
