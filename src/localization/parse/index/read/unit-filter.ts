import type { SQLInputValue } from 'node:sqlite';
import type { z } from 'zod';
import type { ParseErrorsQuery } from '../../../../contract/schemas/query.ts';
import {
  createPatternTest,
  literalParts,
  type PatternPart,
} from '../../../../domain/text/character-pattern.ts';

export type UnitQuery = z.output<typeof ParseErrorsQuery>;

interface Condition {
  /** Begins with AND, or is empty. */
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

const LEAF_PARAMETERS = ['archive_entry', 'path_id', 'class_id', 'format'] as const;

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
  return pattern === undefined ? () => true : destinationGlob(pattern);
}

const ANYTHING: PatternPart = { kind: 'many', accepts: () => true };

/**
 * Makes a function that matches destinations against a glob. `?` matches one character and `*` any number of them, both
 * within a segment. `**` crosses segments, and `**` with a separator also matches no folder. Every other character matches
 * itself. A match takes time in proportion to the glob and the destination, because the glob comes from a request.
 */
export function destinationGlob(glob: string): (destination: string) => boolean {
  return createPatternTest(
    Array.from(glob.matchAll(/(?<![^/])\*{2,}\/|\*+|[^*]/gsu)).flatMap(([part]): PatternPart[] => {
      if (part === '?') return [{ kind: 'one', accepts: isInSegment }];
      if (part === '*') return [{ kind: 'many', accepts: isInSegment }];
      if (!part.startsWith('*')) return literalParts(part);
      if (part.endsWith('/')) return [{ kind: 'optional', length: 2 }, ANYTHING, ...literalParts('/')];
      return [ANYTHING];
    }),
  );
}

function isInSegment(character: number): boolean {
  return character !== 0x2f;
}
