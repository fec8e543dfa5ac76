import { isRecord } from '../../domain/is-record.ts';
import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';
import { revisionOf, UNIT_STATES, type ReadResult, type ReadUnit } from './unit-record.ts';

class ValueError extends Error {}

/**
 * Reads a unit from the values of a row or of a JSON object. Other values are left out.
 *
 * @param values by the names of the columns of CSV; the locator can be an object of its own
 */
export function readUnit(values: Readonly<Record<string, unknown>>, line: number): ReadResult {
  const unitId = typeof values['unit_id'] === 'string' ? values['unit_id'] : null;
  const problem = (reason: 'state_unknown' | 'value_invalid', message: string): ReadResult => ({
    kind: 'problem',
    line,
    unit_id: unitId,
    reason,
    message,
  });
  try {
    const unit = unitOf(values);
    if (unit.state === undefined) {
      return problem('state_unknown', `the state is not one of ${UNIT_STATES.join(', ')}`);
    }
    return { kind: 'unit', line, unit: { ...unit, state: unit.state } };
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    return problem('value_invalid', error.message);
  }
}

function unitOf(values: Readonly<Record<string, unknown>>): Omit<ReadUnit, 'state'> & {
  state: ReadUnit['state'] | undefined;
} {
  const source = textOf(values, 'source_text');
  if (source === null) throw new ValueError('the value of source_text is missing');
  return {
    unit_id: textOf(values, 'unit_id'),
    locator: locatorOf(values),
    source_text: source,
    target_text: textOf(values, 'target_text'),
    state: stateOf(textOf(values, 'state')),
    note: textOf(values, 'note'),
    context: contextOf(values['context'] ?? {}),
    previous_source: textOf(values, 'previous_source'),
    previous_target: textOf(values, 'previous_target'),
    revision: numberOf(values['revision'] ?? null),
  };
}

function textOf(values: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = values[name] ?? null;
  if (value === null) return null;
  if (typeof value !== 'string') throw new ValueError(`the value of ${name} is not a text`);
  if (value.length > MAX_TEXT_CHARACTERS) {
    throw new ValueError(`the value of ${name} has more than ${MAX_TEXT_CHARACTERS} characters`);
  }
  return value;
}

function numberOf(value: unknown): number | null {
  if (value === null) return null;
  const revision = revisionOf(value);
  if (revision === undefined) throw new ValueError('the value of revision is not a whole number');
  return revision;
}

function stateOf(text: string | null): ReadUnit['state'] | undefined {
  if (text === null) return null;
  const name = text.trim().toLowerCase();
  return UNIT_STATES.find((state) => state === name);
}

function locatorOf(values: Readonly<Record<string, unknown>>): ReadUnit['locator'] {
  const from = isRecord(values['locator']) ? values['locator'] : values;
  const destination = textOf(from, 'destination');
  const fieldPath = textOf(from, 'field_path');
  if (destination === null || fieldPath === null) return null;
  return {
    destination,
    archive_entry: textOf(from, 'archive_entry'),
    path_id: textOf(from, 'path_id'),
    field_path: fieldPath,
  };
}

const MAX_CONTEXT_KEYS = 64;

function contextOf(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) throw new ValueError('the value of context is not an object of texts');
  const entries = Object.entries(value);
  if (entries.length > MAX_CONTEXT_KEYS)
    throw new ValueError(`context has more than ${MAX_CONTEXT_KEYS} keys`);
  return Object.fromEntries(entries.map(([key]) => [key, textOf(value, key) ?? '']));
}
