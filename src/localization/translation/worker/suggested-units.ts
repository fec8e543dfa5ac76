import { unitIdBytes } from '../../unit-id-text.ts';

/** Asks for the first units of a task that need a target, instead of named ones. */
const OPEN_UNITS = 'open';
/** Units of one run: a person reads each of them. */
export const MOST_UNITS = 50;

/** The ids of the units in `suggest=`; `null` when one of them is no id, or there are too many. */
export function suggestedUnits(text: string): readonly Uint8Array[] | null {
  if (text === OPEN_UNITS) return [];
  const ids = text.split(',').flatMap((id) => unitIdBytes(id) ?? []);
  return ids.length === text.split(',').length && ids.length <= MOST_UNITS ? ids : null;
}
