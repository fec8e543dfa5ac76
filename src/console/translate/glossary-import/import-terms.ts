/** Sends the terms of a file one by one, with the rules of `slipway ctl glossary import`. */

import { createRowReader } from '../../../contract/formats/csv/read-rows.ts';
import type { ReadTerm, ReadTermResult } from '../../../contract/formats/glossary/read-term.ts';
import {
  IMPORT_WAITS,
  changeBody,
  judgeTerm,
  newTermBody,
  queriedText,
  type ImportedOutcome,
} from '../../../contract/formats/glossary/term-import.ts';
import { termTable } from '../../../contract/formats/glossary/term-table.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { OtherLanguages } from '../../../domain/text/other-languages.ts';
import { postAction } from '../../actions/post-action.ts';
import { ApiFailure } from '../../api/api-client.ts';
import type { App } from '../../state/app.ts';
import { readReport } from '../../state/read-report.ts';
import { renderExact } from '../../text/exact-json.ts';

export type TermOutcome = ImportedOutcome | 'left_out' | 'conflict' | 'refused';

export interface ImportProgress {
  readonly done: number;
  readonly counts: Readonly<Partial<Record<TermOutcome, number>>>;
  readonly issues: ReadonlyArray<{ readonly line: number; readonly message: string }>;
}

const MOST_TERMS = '1000';

export const NOTHING_DONE: ImportProgress = { done: 0, counts: {}, issues: [] };

interface ImportOptions {
  readonly pair: LanguagePair;
  readonly file: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ImportProgress) => void;
  /** Waits some seconds, or until the signal. */
  readonly wait: (seconds: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Imports terms as drafts: new ones are added, drafts are changed, and decisions of people stay. Where the service has a limit for
 * the token, the import waits as long as the service asks, within {@link IMPORT_WAITS}.
 *
 * @throws ApiFailure when the service does not answer; a term that it refuses is an issue
 */
export async function importTerms(
  app: App,
  terms: readonly FileTerm[],
  options: ImportOptions,
): Promise<void> {
  const { signal, onProgress, wait } = options;
  let progress = NOTHING_DONE;
  for (const { term, line } of terms) {
    let ended: Ended | null = null;
    for (let waits = 0; ended === null; waits += 1) {
      if (signal.aborted) return;
      try {
        ended = await importTerm(app, term, options);
      } catch (error) {
        const isLimited = error instanceof ApiFailure && error.status === 429;
        if (!isLimited || waits === IMPORT_WAITS.most) throw error;
        const { defaultSeconds, longestSeconds } = IMPORT_WAITS;
        await wait(Math.min(error.retryAfter ?? defaultSeconds, longestSeconds), signal);
      }
    }
    const { outcome, message } = ended;
    progress = {
      done: progress.done + 1,
      counts: { ...progress.counts, [outcome]: (progress.counts[outcome] ?? 0) + 1 },
      issues:
        message === undefined
          ? progress.issues
          : [...progress.issues, { line, message: `${term.source_term}: ${message}` }],
    };
    onProgress(progress);
  }
}

interface Ended {
  readonly outcome: TermOutcome;
  readonly message?: string;
}

async function importTerm(app: App, term: ReadTerm, { pair, file }: ImportOptions): Promise<Ended> {
  try {
    const text = queriedText(term);
    const query = { source_text: text ?? '', limit: MOST_TERMS };
    const found = text === null ? null : await readReport(app, 'translation.glossary.query', query);
    const judgement = judgeTerm(term, pair, found, false);
    if (judgement.kind === 'unclear') throw new Error(`${judgement.message}.`);
    if (judgement.kind !== 'steps') return { outcome: judgement.kind, message: judgement.message };
    for (const step of judgement.steps) {
      if (step === 'add') {
        const body = newTermBody(term, { pair, file, now: Math.floor(app.now()) });
        await addTerm(app, body, term.term_id);
      } else {
        await change(app, step, changeBody(step, term, judgement.termId));
      }
    }
    return { outcome: judgement.outcome };
  } catch (error) {
    // Anything else than a refusal of this term concerns all of them.
    if (!(error instanceof ApiFailure) || error.isPassing || error.status === 401) throw error;
    const named = (error.problem.errors ?? []).map(({ pointer, message }) => `${pointer} ${message}`);
    return { outcome: 'refused', message: [error.message, ...named].join(' ') };
  }
}

async function change(app: App, step: string, body: object): Promise<void> {
  await postAction(app, `translation-glossary-${step}`, renderExact(body));
}

async function addTerm(app: App, body: object, termId: string | null): Promise<void> {
  if (termId !== null) {
    try {
      await change(app, 'add', { ...body, term_id: termId });
      return;
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 'term_exists') throw error;
    }
  }
  await change(app, 'add', body);
}

type FileTerm = Extract<ReadTermResult, { kind: 'term' }>;

export interface FileTerms {
  readonly terms: readonly FileTerm[];
  /** Rows that cannot be read. */
  readonly problems: ReadonlyArray<Extract<ReadTermResult, { kind: 'problem' }>>;
  /** Remarks on the others. */
  readonly remarks: ReadonlyArray<{ readonly line: number; readonly message: string }>;
  readonly others: number;
}

/** Most rows of a file, because each term is a request. */
const MOST_ROWS = 5000;
const PIECE = 65_536;

/**
 * Reads the terms of one pair of languages.
 *
 * @throws Error that says what is wrong; nothing of the file counts
 */
export function readTerms(text: string, pair: LanguagePair): FileTerms {
  const reader = createRowReader(termTable(pair));
  const results: ReadTermResult[] = [];
  const take = (rows: readonly ReadTermResult[]): void => {
    results.push(...rows);
    if (results.length > MOST_ROWS)
      throw new Error(
        `The file has more than ${MOST_ROWS} rows. Put it into the exchange folder of the daemon instead.`,
      );
  };
  for (let at = 0; at < text.length; at += PIECE) take(reader.write(text.slice(at, at + PIECE)));
  take(reader.end());
  const terms = results.filter((each) => each.kind === 'term');
  const problems = results.filter((each) => each.kind === 'problem');
  const others = results.filter((each) => each.kind === 'other');
  const languages = new OtherLanguages(pair.sourceLanguage, pair.targetLanguage);
  if (others.length < results.length) languages.sawWanted();
  for (const { line, languages: names } of others) languages.sawOther(line, names);
  const nothing = languages.issue();
  const remarks = terms.flatMap(({ line, remarks: found }) =>
    found.map(({ message }) => ({ line, message })),
  );
  return {
    terms,
    problems,
    remarks: nothing === null ? remarks : [nothing],
    others: others.length,
  };
}
