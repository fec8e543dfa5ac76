/** Matches names of fields whose values are credentials, at any depth. */
const SECRET_NAME = /token|secret|password|passphrase|authorization|cookie|credential|api_?key|private_?key/i;
const MAX_DEPTH = 6;

/** Replaces the values of fields whose names suggest credentials; values that are nested too deep are omitted. */
export function redactFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return redact(fields, 0) as Readonly<Record<string, unknown>>;
}

function redact(value: unknown, depth: number): unknown {
  if (value instanceof Error) return value.message;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '[nested]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      SECRET_NAME.test(name) ? '[redacted]' : redact(member, depth + 1),
    ]),
  );
}
