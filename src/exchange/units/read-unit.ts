import { isRecord } from '../../domain/is-record.ts';
import { contextOf, requiredText, textOf, ValueError, type JsonObject } from '../json-values.ts';
import { revisionOf, type ReadResult, type ReadUnit } from './unit-record.ts';

/**
 * Reads a unit from the values of a row or of a JSON object. Other values are left out.
 *
 * @param values by the names of the columns of CSV; the locator can be an object of its own
 */
export function readUnit(values: JsonObject, line: number): ReadResult {
  try {
    return { kind: 'unit', line, unit: unitOf(values) };
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    const unitId = typeof values['unit_id'] === 'string' ? values['unit_id'] : null;
    return { kind: 'problem', line, unit_id: unitId, reason: 'value_invalid', message: error.message };
  }
}

function unitOf(values: JsonObject): ReadUnit {
  return {
    unit_id: textOf(values, 'unit_id'),
    locator: locatorOf(values),
    source_text: requiredText(values, 'source_text'),
    target_text: textOf(values, 'target_text'),
    note: textOf(values, 'note'),
    context: contextOf(values),
    previous_source: textOf(values, 'previous_source'),
    previous_target: textOf(values, 'previous_target'),
    revision: numberOf(values['revision'] ?? null),
  };
}

function numberOf(value: unknown): number | null {
  if (value === null) return null;
  const revision = revisionOf(value);
  if (revision === undefined) throw new ValueError('the value of revision is not a whole number');
  return revision;
}

function locatorOf(values: JsonObject): ReadUnit['locator'] {
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
