import type { Report } from '../../api/wire.ts';

type Match = Report<'translation.memory.query'>['matches'][number];

/** The matches with different proposals: of those with the same one, the best is enough. @param matches the best first */
export function distinctMatches<T extends Pick<Match, 'proposed_text'>>(matches: readonly T[]): T[] {
  const seen = new Set<string>();
  return matches.filter(({ proposed_text: text }) => {
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}
