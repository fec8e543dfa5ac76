import type { GlossaryPort } from '../../glossary/glossary.ts';
import type { LanguagePair, TermWording } from '../../../domain/glossary/term.ts';
import type { GlossaryTerms } from '../providers/provider.ts';

/**
 * The terms of a run for providers that keep a glossary of their own. They are read with the first use, and again after the Glossary
 * changed.
 *
 * @param path another Glossary than the main one, relative to its root; it is read once
 */
export function createRunTerms(
  glossary: GlossaryPort,
  languages: () => LanguagePair,
  path: string | null,
  signal: AbortSignal,
): GlossaryTerms {
  let last: { readonly generation: number | null; readonly terms: Promise<readonly TermWording[]> } | null =
    null;
  return {
    path,
    read: async () => {
      const generation = path === null ? glossary.generation() : null;
      if (last?.generation !== generation) {
        const reading = { generation, terms: glossary.approvedTerms({ path, ...languages() }, signal) };
        last = reading;
        reading.terms.catch(() => {
          if (last === reading) last = null;
        });
      }
      return await last.terms;
    },
  };
}
