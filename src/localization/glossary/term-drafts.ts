import { ServiceError } from '../../contract/problems/service-error.ts';
import { foldedForm } from '../../domain/glossary/folded-form.ts';
import { REVIEW_STATUSES, type LanguagePair } from '../../domain/glossary/term.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { TERM_PREFIX } from './glossary-actions.ts';
import { glossaryError } from './glossary-failure.ts';
import type { GlossaryThread } from './glossary-worker.ts';
import { importedFieldsOf } from './term-fields.ts';

/** A term without a translation, for a person to approve. */
export interface TermDraft {
  readonly form: string;
  /** Empty for none. */
  readonly category: string;
  /** Why it is a term: its texts. */
  readonly note: string;
}

/** Terms that a program suggests for the main Glossary. */
export interface TermDrafts {
  /**
   * The folded forms of all terms of a pair of languages, in every state, also of rejected terms.
   *
   * @throws ServiceError `backend_unavailable`; the signal's reason
   */
  knownForms(pair: LanguagePair, signal: AbortSignal): Promise<ReadonlySet<string>>;
  /**
   * Adds drafts, a hundred at a time. A term that exists stays as it is.
   *
   * @param source.ref where they come from, for people
   * @returns how many were added, and how many the Glossary cannot have
   * @throws ServiceError `backend_unavailable`; the signal's reason
   */
  add(
    drafts: readonly TermDraft[],
    pair: LanguagePair,
    source: { readonly ref: string; readonly reason: string },
    signal: AbortSignal,
  ): Promise<{ readonly added: number; readonly refused: number }>;
}

const PAGE_TERMS = 500;
const BATCH_TERMS = 100;

/** Creates the way in for drafts. */
export function createTermDrafts({
  thread,
  createId,
  clock,
  onChanged,
}: {
  readonly thread: GlossaryThread;
  readonly createId: () => string;
  readonly clock: Clock;
  /** Called once after all drafts with the new generation. */
  readonly onChanged: (generation: number) => void;
}): TermDrafts {
  return {
    knownForms: async (pair, signal) => {
      const forms = new Set<string>();
      try {
        for (let after = ''; ;) {
          const query = { ...pair, file: null, after, states: REVIEW_STATUSES, limit: PAGE_TERMS };
          const page = await thread.page(query, { signal });
          for (const { source_term: term, aliases } of page) {
            for (const form of [term, ...aliases]) forms.add(foldedForm(form));
          }
          const last = page.at(-1);
          if (last === undefined || page.length < PAGE_TERMS) return forms;
          after = last.term_id;
        }
      } catch (error) {
        signal.throwIfAborted();
        throw glossaryError(error);
      }
    },
    add: async (drafts, pair, { ref, reason }, signal) => {
      let [added, refused]: [number, number] = [0, 0];
      let generation: number | null = null;
      const now = unixSeconds(clock);
      try {
        for (let start = 0; start < drafts.length; start += BATCH_TERMS) {
          signal.throwIfAborted();
          const terms = drafts.slice(start, start + BATCH_TERMS).flatMap((draft) => {
            const fields = fieldsOf(draft, pair, ref, now);
            const termId = TERM_PREFIX + createId();
            return fields === null ? [] : [{ termId, spareId: termId, isOwnId: true, fields, status: null }];
          });
          const audit = { reviewer: null, reason, tokenId: null };
          const answer = await thread.importTerms({ terms, audit, isReviewed: false, isDryRun: false, now });
          ({ generation } = answer);
          const outcomes = answer.outcomes.filter(({ outcome }) => outcome === 'added').length;
          added += outcomes;
          refused += Math.min(BATCH_TERMS, drafts.length - start) - outcomes;
        }
      } catch (error) {
        signal.throwIfAborted();
        throw glossaryError(error);
      } finally {
        if (generation !== null) onChanged(generation);
      }
      return { added, refused };
    },
  };
}

function fieldsOf({ form, category, note }: TermDraft, pair: LanguagePair, ref: string, now: number) {
  try {
    return importedFieldsOf({
      source_term: form,
      recommended_translation: '',
      category,
      source_language: pair.sourceLanguage,
      target_language: pair.targetLanguage,
      source: { source_kind: 'imported', observed_unix_seconds: now, source_ref: ref, source_note: note },
    });
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
