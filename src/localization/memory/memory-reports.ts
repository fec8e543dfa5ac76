import { ServiceError } from '../../contract/problems/service-error.ts';
import type { QueryOf, ReportBodyOf } from '../../contract/reports/reports.ts';
import type { LanguagePair } from '../../domain/memory/memory-record.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import { memoryReportError, unavailableReason } from './memory-failure.ts';
import type { MemoryAnswer, MemoryThread } from './memory-worker.ts';
import { blockingFindings, withholdBlocked } from './target-check.ts';

interface MemoryReportDependencies {
  readonly thread: MemoryThread;
  readonly mainFile: string;
  readonly pair: () => LanguagePair;
  /** Points that the matches of a file lose. */
  readonly penaltyOf: (path: string | null) => number;
}

const NO_COUNTS = { candidate: 0, trusted: 0, superseded: 0, rejected: 0, conflict_groups: 0 };
/** Key of the context that asks for a search instead of a match. */
const MODE_KEY = 'mode';

/** The reports `translation.memory.summary`, `.query` and `.conflicts`. */
export function memoryReports(dependencies: MemoryReportDependencies): readonly DefinedReport[] {
  const { thread, mainFile } = dependencies;
  return [
    defineReport('translation.memory.summary', async ({ translation_memory_path: path = null }, signal) => {
      const shown = path ?? mainFile;
      try {
        return { available: true, path: shown, ...(await thread.summary({ path }, { signal })) };
      } catch (error) {
        signal.throwIfAborted();
        if (errorCode(error) === 'invalid_path') throw memoryReportError(error);
        return {
          available: false,
          reason: unavailableReason(error),
          path: shown,
          counts: NO_COUNTS,
          pairs: [],
        };
      }
    }),
    defineReport(
      'translation.memory.query',
      async (query, signal) => await guarded(answerQuery(dependencies, query, signal), signal),
    ),
    defineReport(
      'translation.memory.conflicts',
      async ({ limit, translation_memory_path: path = null }, signal) => {
        const found = await guarded(thread.conflicts({ path, limit }, { signal }), signal);
        return { limit, ...found };
      },
    ),
  ];
}

async function answerQuery(
  { thread, pair, penaltyOf }: MemoryReportDependencies,
  query: QueryOf<'translation.memory.query'>,
  signal: AbortSignal,
): Promise<ReportBodyOf<'translation.memory.query'>> {
  const { source_text, source_context: context = {}, limit, translation_memory_path: path = null } = query;
  const languages = pair();
  if (isConcordance(context)) {
    const found = await thread.concordance(
      { path, query: { ...languages, text: source_text, limit } },
      { signal },
    );
    return bodyOf(source_text, found, found.isTruncated);
  }
  const lookup = { ...languages, source_text, context, depth: 'all', limit } as const;
  const found = await thread.query({ path, lookup, penalty: penaltyOf(path) }, { signal });
  const isBlocked = (target: string): boolean =>
    blockingFindings({
      source: source_text,
      target,
      sourceLanguage: languages.source_language,
      targetLanguage: languages.target_language,
    }).length > 0;
  return bodyOf(source_text, withholdBlocked(found, isBlocked));
}

function bodyOf(
  source_text: string,
  { decision, matches }: MemoryAnswer<ReportBodyOf<'translation.memory.query'>['matches'][number]['record']>,
  truncated = false,
): ReportBodyOf<'translation.memory.query'> {
  return {
    source_text,
    decision,
    truncated,
    matches: matches.map((match) => ({ ...match, penalties: [...match.penalties] })),
  };
}

/** @throws ServiceError `invalid_request` for another mode */
function isConcordance(context: Readonly<Record<string, string>>): boolean {
  const mode = Object.hasOwn(context, MODE_KEY) ? context[MODE_KEY] : undefined;
  if (mode === undefined) return false;
  if (mode === 'concordance') return true;
  throw new ServiceError('invalid_request', 'the query of translation.memory.query is not valid', {
    errors: [{ pointer: 'source_context', message: 'its "mode" must be "concordance", or be left out' }],
  });
}

async function guarded<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ServiceError) throw error;
    throw memoryReportError(error);
  }
}
