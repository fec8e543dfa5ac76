import { createPatternTest, literalParts, type PatternPart } from './character-pattern.ts';

const BETWEEN_NAMES = new Set(['.', '/', '[', ']', '#'].map((symbol) => symbol.codePointAt(0)));

/**
 * Makes the test whether a field path matches a glob. `*` stands for any characters of one name or index, `**` for any
 * characters; brackets and everything else stand for themselves, so that `lines[*].text` can be written as it is read.
 * Field paths come from files of upstream, so the test takes bounded time.
 */
export function createFieldGlob(glob: string): (fieldPath: string) => boolean {
  return createPatternTest(
    glob.split(/(\*\*|\*)/).flatMap((part): PatternPart[] => {
      if (part === '**') return [{ kind: 'many', accepts: () => true }];
      if (part === '*') return [{ kind: 'many', accepts: (character) => !BETWEEN_NAMES.has(character) }];
      return literalParts(part);
    }),
  );
}
