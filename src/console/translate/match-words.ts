import type { Report } from '../api/wire.ts';

/** How a text of the Translation Memory matches, in words. */
export const MATCH_WORDS: Readonly<
  Record<Report<'translation.memory.query'>['matches'][number]['match_type'], string>
> = {
  context: 'same text and place',
  exact: 'same text',
  normalized: 'same, in another form',
  numbers: 'same, with other numbers',
  fuzzy: 'similar',
  concordance: 'contains it',
};
