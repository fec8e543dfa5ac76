/** Commands of `slipway ctl` that a person can copy; pure. */

/** The command that prints a report. */
export function reportLine(report: string, query: Readonly<Record<string, string>> = {}): string {
  return line(['report', report, ...fields(query)]);
}

/** The command that runs an action and waits for its end. */
export function runLine(action: string, values: Readonly<Record<string, string>> = {}): string {
  return line(['run', action, ...fields(values), '--wait']);
}

function line(parts: readonly string[]): string {
  return ['slipway', 'ctl', ...parts.map(quoted)].join(' ');
}

function fields(values: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(values)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${value}`);
}

function quoted(text: string): string {
  return /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
