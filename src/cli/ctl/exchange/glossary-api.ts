import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { AcceptedAnswer } from '../../../contract/schemas/answers/admin.ts';
import type { FoundTerms } from '../../../contract/formats/glossary/term-import.ts';
import { stringifyJsonExact } from '../../../contract/json/json-exact.ts';
import { REPORTS } from '../../../contract/reports/reports.ts';
import type { LanguagePair, ReviewStatus } from '../../../domain/glossary/term.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { readReport } from '../read-report.ts';
import { reportPath } from '../report-path.ts';

/** Most terms of one answer. */
const LIMIT = 1000;

/**
 * The languages of a run: those of the options, else those of the only pair in the Glossary.
 *
 * @throws CtlFailure
 */
export async function languagesOf({ api, args }: CtlContext): Promise<LanguagePair> {
  const source = textOption(args, 'source-language');
  const target = textOption(args, 'target-language');
  if (source !== undefined && target !== undefined) return { sourceLanguage: source, targetLanguage: target };
  const answer = await api.get(reportPath('translation.glossary.summary'));
  const { pairs = [] } =
    REPORTS['translation.glossary.summary'].answer.schema.safeParse(answer.value).data ?? {};
  const [pair] = pairs;
  if (pair !== undefined && pairs.length === 1) {
    return { sourceLanguage: source ?? pair.source_language, targetLanguage: target ?? pair.target_language };
  }
  throw new CtlFailure(
    CTL_EXITS.usage,
    `the Glossary has terms of ${pairs.length} pairs of languages: give --source-language and --target-language, such as ja and zh-Hans`,
  );
}

/** Terms that match, and how many there are. @throws CtlFailure */
export async function queryTerms(
  { api }: Pick<CtlContext, 'api'>,
  filter: { readonly source_text?: string; readonly review_status?: ReviewStatus },
): Promise<FoundTerms> {
  const query = { ...filter, limit: String(LIMIT) };
  return await readReport(api, 'translation.glossary.query', query);
}

/** Sends one action of the Glossary. @returns the id of the term @throws CtlFailure */
export async function changeTerm(
  { api }: Pick<CtlContext, 'api'>,
  action: 'add' | 'update' | 'approve' | 'deprecate',
  body: Readonly<Record<string, unknown>>,
): Promise<string> {
  const answer = await api.post(`translation-glossary-${action}`, stringifyJsonExact(body), randomUUID());
  const changed = AcceptedAnswer.schema
    .extend({ result: z.looseObject({ term: z.looseObject({ term_id: z.string() }) }) })
    .safeParse(answer.value);
  if (changed.success) return changed.data.result.term.term_id;
  throw new CtlFailure(CTL_EXITS.unreachable, 'the daemon sent an answer that this version cannot read');
}
