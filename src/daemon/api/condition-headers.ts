import { CONDITION_HEADERS, renderConditions } from '../../contract/formats/condition-headers.ts';
import type { ToldConditions } from './condition-source.ts';

/** The headers that tell the conditions of the daemon. */
export function renderConditionHeaders({
  conditions,
  tag,
}: ToldConditions): Readonly<Record<string, string>> {
  return {
    [CONDITION_HEADERS.conditions]: renderConditions(conditions),
    [CONDITION_HEADERS.tag]: tag,
  };
}
