/** Renders a Markdown table. */
export function table(header: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Names as code, separated by commas; a dash for none. */
export function codes(names: readonly string[]): string {
  return names.length === 0 ? '-' : names.map((name) => `\`${name}\``).join(', ');
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
