import { describe, expect, it } from 'vitest';
import { decideImport, type ImportFacts } from '../../../../src/domain/glossary/import-decision.ts';
import type { ReviewStatus } from '../../../../src/domain/glossary/term.ts';

const STATES: readonly (ReviewStatus | null)[] = [null, 'draft', 'approved', 'deprecated', 'rejected'];
const SWITCHES = [true, false];

/** Every combination of facts. */
const ALL: readonly ImportFacts[] = STATES.flatMap((known) =>
  STATES.flatMap((read) =>
    SWITCHES.flatMap((isSame) =>
      SWITCHES.flatMap((isReviewed) =>
        SWITCHES.map((hasTranslation) => ({ known, read, isSame, isReviewed, hasTranslation })),
      ),
    ),
  ),
);

function stepsOf(facts: ImportFacts): readonly string[] {
  const decision = decideImport(facts);
  return decision.kind === 'steps' ? decision.steps : [];
}

describe('an import of a term', () => {
  it('without a reviewer only adds drafts and changes drafts', () => {
    for (const facts of ALL.filter(({ isReviewed }) => !isReviewed)) {
      const steps = stepsOf(facts);
      expect(steps).not.toContain('approve');
      expect(steps).not.toContain('deprecate');
      if (facts.known !== null && facts.known !== 'draft') expect(steps).toEqual([]);
    }
  });

  it('never touches a rejected term, nor takes one from a file', () => {
    for (const facts of ALL.filter(({ known, read }) => known === 'rejected' || read === 'rejected')) {
      expect(stepsOf(facts)).toEqual([]);
    }
  });

  it('changes nothing the second time', () => {
    for (const facts of ALL) {
      const steps = stepsOf(facts);
      if (steps.length === 0) continue;
      const known = steps.includes('deprecate')
        ? 'deprecated'
        : steps.includes('approve')
          ? 'approved'
          : (facts.known ?? 'draft');
      expect(stepsOf({ ...facts, known, isSame: true })).toEqual([]);
    }
  });

  it('approves no term without a translation', () => {
    for (const facts of ALL.filter(({ hasTranslation }) => !hasTranslation)) {
      expect(stepsOf(facts)).not.toContain('approve');
    }
  });
});
