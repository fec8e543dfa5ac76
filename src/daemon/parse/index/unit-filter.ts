import type { SQLInputValue } from 'node:sqlite';
import type { z } from 'zod';
import type { TextUnitsQuery } from '../../../contract/schemas/query.ts';
import { createDestinationGlob } from './destination-glob.ts';

/** The query of `parse.text_units` and `parse.errors`, parsed. */
export type UnitQuery = z.output<typeof TextUnitsQuery>;

/** A part of a WHERE clause and its values. */
export interface Condition {
  /** Begins with AND, or is empty. */
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

/** Parameters that select within a file. */
const LEAF_PARAMETERS = ['archive_entry', 'path_id', 'class_id', 'format'] as const;

/** The condition on the columns of a location. */
export function leafCondition(query: UnitQuery, table: string): Condition {
  return conditionOf(LEAF_PARAMETERS.map((name) => [`${table}.${name}`, query[name]]));
}

/** The condition on columns that must equal the given values; a value that is not given is left out. */
export function conditionOf(columns: readonly (readonly [string, SQLInputValue | undefined])[]): Condition {
  const given = columns.flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]));
  return {
    sql: given.map(({ column }) => ` AND ${column} = ?`).join(''),
    values: given.map(({ value }) => value),
  };
}

/** The test of a destination by `path_pattern`. */
export function patternOf({ path_pattern: pattern }: UnitQuery): (destination: string) => boolean {
  return pattern === undefined ? () => true : createDestinationGlob(pattern);
}
