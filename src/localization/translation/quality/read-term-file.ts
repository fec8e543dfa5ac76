import { createReadStream } from 'node:fs';
import { endingChoice, formatOfFile } from '../../../contract/formats/exchange-formats.ts';
import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import { termMeaning } from '../../../contract/formats/glossary/term-import.ts';
import type { ReadTermResult } from '../../../contract/formats/glossary/read-term.ts';
import { compileGlossary, type CompiledGlossary } from '../../../domain/glossary/compile-glossary.ts';
import { wordingsEverywhere } from '../../../domain/glossary/term-wordings.ts';
import type { LanguagePair, Term } from '../../../domain/glossary/term.ts';
import { countText } from '../../../domain/count-text.ts';
import { TERM_FORMATS } from '../../../exchange/glossary/term-formats.ts';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import type { GlossaryTerms } from '../providers/provider.ts';
import { QualityError } from './quality-error.ts';

/** The terms of a file. */
export interface TermFile {
  readonly glossary: CompiledGlossary;
  /** For providers that keep a glossary of their own; `null` without a file. */
  readonly terms: GlossaryTerms | null;
  /** What is wrong with the first of the rows that cannot be used, and how many there are; `null` for none. */
  readonly problem: string | null;
}

/**
 * Reads the terms of a file, as the Glossary exports them. A term without a state counts as approved.
 *
 * @param path `null`: no terms
 * @throws QualityError when the file cannot be used
 */
export async function readTermFile(
  path: string | null,
  pair: LanguagePair,
  signal: AbortSignal,
): Promise<TermFile> {
  if (path === null) return { glossary: compileGlossary([], pair), terms: null, problem: null };
  const format = formatOfFile('terms', path);
  if (format === null)
    throw new QualityError(`${path}: the name of a Glossary ends with ${endingChoice('terms')}`);
  const reader = TERM_FORMATS[format].createReader(pair);
  const terms: Term[] = [];
  const problems = { count: 0, first: '' };
  const take = (results: readonly ReadTermResult[]): void => {
    for (const result of results) {
      const message = problemOf(result);
      if (message !== null) {
        if (problems.count === 0) problems.first = `line ${result.line}: ${message}`;
        problems.count += 1;
      } else if (result.kind === 'term') terms.push(termOf(result, pair));
    }
  };
  try {
    for await (const bytes of createReadStream(path, { signal }) as AsyncIterable<Buffer>)
      take(reader.write(bytes));
    take(reader.end());
  } catch (error) {
    if (error instanceof ExchangeFileError) throw new QualityError(`${path}: ${error.message}`);
    if (errorCode(error) === null || signal.aborted) throw error;
    throw new QualityError(`${path} cannot be read: ${messageOf(error)}`);
  }
  const { count, first } = problems;
  const problem =
    count === 0 ? null : `${countText(count, 'entry', 'entries')} left out, the first in ${first}`;
  if (terms.length > 0) {
    const wordings = wordingsEverywhere(terms.filter(({ reviewStatus }) => reviewStatus === 'approved'));
    const read = async (): Promise<typeof wordings> => await Promise.resolve(wordings);
    return { glossary: compileGlossary(terms, pair), terms: { path, read }, problem };
  }
  throw new QualityError(
    `${path} has no term from ${pair.sourceLanguage} to ${pair.targetLanguage}${problem === null ? '' : ` (${problem})`}`,
  );
}

function problemOf(result: ReadTermResult): string | null {
  if (result.kind !== 'term') return result.kind === 'problem' ? result.message : null;
  if (result.term.source_term.trim() === '') return 'it has no source';
  return result.term.recommended_translation.trim() === '' ? 'it has no translation' : null;
}

function termOf({ term, line }: ReadTermResult & { readonly kind: 'term' }, pair: LanguagePair): Term {
  return {
    ...termMeaning(term, pair),
    termId: term.term_id ?? `line ${line}`,
    revision: 1,
    reviewStatus: term.review_status ?? 'approved',
  };
}
