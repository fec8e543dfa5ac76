import { ServiceError } from '../../contract/problems/service-error.ts';
import type { QueryOf } from '../../contract/reports/reports.ts';
import type { LanguagePair } from '../../domain/glossary/term.ts';
import { canonicalLanguageTag, isLanguageTag } from '../../domain/text/language-tag.ts';
import { missingFileError } from '../../engine/missing-file.ts';
import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import type { TermMissingRules } from './glossary-config.ts';
import { glossaryError, isUnavailable, unavailableReason } from './glossary-failure.ts';
import type { GlossaryFiles } from './glossary-files.ts';
import type { GlossaryFile, GlossaryThread } from './glossary-worker.ts';

const MAIN_NAME = 'glossary.db';
const NO_TERMS = {
  counts: { draft: 0, approved: 0, deprecated: 0, rejected: 0 },
  generation: 0,
  pairs: [],
};

/** The reports `translation.glossary.summary`, `translation.glossary.query` and `translation.glossary.diagnose`. */
export function glossaryReports({
  thread,
  files,
  languages,
  rules,
}: {
  readonly thread: GlossaryThread;
  readonly files: GlossaryFiles;
  readonly languages: () => LanguagePair;
  readonly rules: () => TermMissingRules;
}): readonly DefinedReport[] {
  const reading = async <T>(
    path: string | undefined,
    signal: AbortSignal,
    read: (file: GlossaryFile) => Promise<T>,
  ): Promise<T> => {
    try {
      return await read(await files.find(path));
    } catch (error) {
      signal.throwIfAborted();
      if (isMissing(error)) throw missingFileError('glossary_path', error.message, error);
      throw glossaryError(error);
    }
  };
  return [
    defineReport('translation.glossary.summary', async ({ glossary_path: path }, signal) => {
      const shown = { path: path ?? MAIN_NAME };
      try {
        const summary = await thread.summary(await files.find(path), { signal });
        return { available: true, ...shown, ...summary };
      } catch (error) {
        signal.throwIfAborted();
        if (isMissing(error)) return { available: false, reason: error.message, ...shown, ...NO_TERMS };
        if (!isUnavailable(error)) throw glossaryError(error);
        return { available: false, reason: unavailableReason(error), ...shown, ...NO_TERMS };
      }
    }),
    defineReport('translation.glossary.query', async (query, signal) => {
      const { limit } = query;
      const filter = {
        sourceText: query.source_text,
        category: query.category,
        reviewStatus: query.review_status,
        limit,
      };
      return await reading(query.glossary_path, signal, async (file) => {
        const { total, items } = await thread.query({ ...filter, file }, { signal });
        return { total, limit, items: [...items] };
      });
    }),
    defineReport('translation.glossary.diagnose', async (query, signal) => {
      const { source_text: sourceText } = query;
      const { pair, translatedText, context } = readContext(query.context ?? {}, languages());
      // A person who asks wants to know what will count in the end.
      const unit = { sourceText, translatedText, context, wasProofread: true };
      return await reading(query.glossary_path, signal, async (file) => {
        const request = { pair, rules: rules(), units: [unit], file };
        const { diagnoses } = await thread.diagnose(request, { signal });
        const [diagnosis] = diagnoses;
        if (diagnosis === undefined) throw new Error('the thread gave no diagnosis');
        return { source_text: sourceText, ...diagnosis };
      });
    }),
  ];
}

function isMissing(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'file_not_found';
}

function readContext(
  given: NonNullable<QueryOf<'translation.glossary.diagnose'>['context']>,
  configured: LanguagePair,
): { pair: LanguagePair; translatedText: string | null; context: Readonly<Record<string, string>> } {
  const {
    translated_text: translatedText = null,
    source_language: sourceLanguage = configured.sourceLanguage,
    target_language: targetLanguage = configured.targetLanguage,
    ...context
  } = given;
  for (const tag of [sourceLanguage, targetLanguage]) {
    if (isLanguageTag(tag)) continue;
    throw new ServiceError('invalid_request', 'the context is not valid; "errors" names the parameter', {
      errors: [{ pointer: 'context', message: `"${tag}" is not a language tag such as ja or zh-Hans` }],
    });
  }
  const pair = {
    sourceLanguage: canonicalLanguageTag(sourceLanguage),
    targetLanguage: canonicalLanguageTag(targetLanguage),
  };
  return { pair, translatedText, context };
}
