import { z } from 'zod';
import type { FoundTerms } from '../../../contract/formats/glossary/term-import.ts';
import type { LanguagePair, ReviewStatus } from '../../../domain/glossary/term.ts';
import { postAction } from '../admin-api.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { readReport } from '../reports.ts';

const LIMIT = 1000;
const CHANGED = z.looseObject({ term: z.looseObject({ term_id: z.string() }) });

/**
 * The languages of a run: those of the options, else those of the only pair in the Glossary.
 *
 * @throws CtlFailure
 */
export async function languagesOf({ api, args }: CtlContext): Promise<LanguagePair> {
  const source = textOption(args, 'source-language');
  const target = textOption(args, 'target-language');
  if (source !== undefined && target !== undefined) return { sourceLanguage: source, targetLanguage: target };
  const { pairs } = await readReport(api, 'translation.glossary.summary');
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
  { api }: CtlContext,
  filter: { readonly source_text?: string; readonly review_status?: ReviewStatus },
): Promise<FoundTerms> {
  const query = { ...filter, limit: String(LIMIT) };
  return await readReport(api, 'translation.glossary.query', query);
}

/** Sends one action of the Glossary. @returns the id of the term @throws CtlFailure */
export async function changeTerm(
  { api }: CtlContext,
  action: 'add' | 'update' | 'approve' | 'deprecate',
  body: object,
): Promise<string> {
  return (await postAction(api, `translation-glossary-${action}`, body, CHANGED)).term.term_id;
}
