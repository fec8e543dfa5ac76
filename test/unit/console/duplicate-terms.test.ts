import { describe, expect, it } from 'vitest';
import { GlossaryQueryReport } from '../../../src/contract/reports/report-glossary.ts';
import { mergedBody, duplicatesOf, type Term } from '../../../src/console/translate/term-parts.tsx';

const EXAMPLE = GlossaryQueryReport.example.items[0] as Term;

describe('duplicates', () => {
  const duplicate = {
    ...EXAMPLE,
    term_id: 'twin',
    source_term: '先生',
    recommended_translation: '教师',
    aliases: ['せんせい'],
  };

  it('have the same source term, languages and scope, and another id', () => {
    const others = [
      { ...duplicate, term_id: 'other-language', target_language: 'ko' },
      { ...duplicate, term_id: 'other-scope', scope: { character: 'Arona' } },
      { ...duplicate, term_id: 'refused', review_status: 'rejected' as const },
    ];
    const found = duplicatesOf(EXAMPLE, [EXAMPLE, duplicate, ...others]);
    expect(found.map(({ term_id: id }) => id)).toEqual(['twin']);
  });

  it('give a term their spellings and translations, each once', () => {
    expect(mergedBody(EXAMPLE, duplicate)).toEqual({ aliases: ['せんせい'], allowed_translations: ['教师'] });
    expect(mergedBody(EXAMPLE, { ...EXAMPLE, term_id: 'same' })).toEqual({
      aliases: [],
      allowed_translations: [],
    });
  });
});
