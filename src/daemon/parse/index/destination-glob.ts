import { createPatternTest, literalParts, type PatternPart } from '../../../domain/text/character-pattern.ts';

const ANYTHING: PatternPart = { kind: 'many', accepts: () => true };

/**
 * Makes the test whether a destination matches a glob: `?` stands for one character and `*` for any number of them, both
 * within a segment; `**` crosses segments, and `**` with a separator also stands for no folder. Every other character stands
 * for itself. The test takes time in proportion to the glob and the destination, because the glob comes from a request.
 */
export function createDestinationGlob(glob: string): (destination: string) => boolean {
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
