import type { ReportedTerm } from '../../contract/formats/glossary/term-import.ts';
import { OtherFiles } from '../other-database.ts';
import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { messageOf } from '../../platform/errors.ts';
import type { CallerOf } from '../../platform/threads/caller.ts';
import { systemClock, type Clock } from '../../platform/process/clock.ts';
import { DatabaseError } from '../../engine/database/database-error.ts';
import { storageFailureOf } from '../../engine/database/storage-failure.ts';
import { createWorkFile, type WorkFile } from '../../engine/database/work-file.ts';
import { UNAVAILABLE } from './glossary-failure.ts';
import { diagnoseUnits, reportedTerm, type Diagnoses, type DiagnosisRequest } from './glossary-diagnosis.ts';
import {
  glossaryIn,
  openMainGlossary,
  openOtherGlossary,
  type MainGlossary,
  type OpenGlossary,
} from './store/glossary-database.ts';
import { importTerms, type TermImportBatch, type TermImportOutcome } from './store/glossary-import.ts';
import {
  countTerms,
  queryTerms,
  readGeneration,
  termHistory,
  termPage,
  type TermPageQuery,
  type TermQuery,
} from './store/glossary-reader.ts';
import {
  addTerm,
  changeTermState,
  updateTerm,
  type TermAddition,
  type TermTransition,
  type TermUpdate,
} from './store/glossary-writer.ts';
import type { StoredTerm } from './store/stored-term.ts';

export type GlossaryThread = CallerOf<GlossaryStore>;

/** A file: the real path of another Glossary, or `null` for the main one. */
export type GlossaryFile = string | null;

export interface GlossarySummary {
  readonly counts: Record<string, number>;
  readonly generation: number;
  readonly pairs: ReportBodyOf<'translation.glossary.summary'>['pairs'];
}

export interface ChangedTerm {
  readonly term: ReportedTerm;
  readonly generation: number;
}

/** Failures of the disk that have a problem code of their own. The one of damage advises what is wrong for human work. */
const DISK_FAILURES: ReadonlySet<string> = new Set(['data_full', 'data_io_error', 'data_read_only']);

/** Most other files that are open together. */
const MOST_OTHER_FILES = 2;

/**
 * The Glossaries, as the thread that owns the main one serves them. Errors have a code: that of a refused change, of a full, read-only
 * or failing disk, or {@link UNAVAILABLE}.
 */
export class GlossaryStore {
  readonly #main: WorkFile<MainGlossary>;
  readonly #others = new OtherFiles((path: string) => glossaryIn(openOtherGlossary(path)), MOST_OTHER_FILES);

  constructor(path: string, clock: Clock) {
    this.#main = createWorkFile({
      path,
      content: 'the Glossary',
      open: (file) => glossaryIn(openMainGlossary(file)),
      monotonic: () => clock.monotonic(),
    });
  }

  summary(file: GlossaryFile): GlossarySummary {
    return this.#reading(file, summaryOf);
  }

  /** Which value of the main file is damaged; `null` while none was read. */
  damage(): string | null {
    return this.#main.damage()?.finding ?? null;
  }

  query({ file, ...query }: TermQuery & { readonly file: GlossaryFile }): {
    readonly total: number;
    readonly items: readonly ReportedTerm[];
  } {
    return this.#reading(file, (glossary) => {
      const { total, terms } = queryTerms(glossary, query);
      return { total, items: terms.map(reportedTerm) };
    });
  }

  diagnose({ file, ...request }: DiagnosisRequest & { readonly file: GlossaryFile }): Diagnoses {
    return this.#reading(file, (glossary) => diagnoseUnits(glossary, request));
  }

  add(addition: TermAddition): ChangedTerm {
    return this.#changing((glossary) => addTerm(glossary, addition));
  }

  update(update: TermUpdate): ChangedTerm {
    return this.#changing((glossary) => updateTerm(glossary, update));
  }

  transition(transition: TermTransition): ChangedTerm {
    return this.#changing((glossary) => changeTermState(glossary, transition));
  }

  importTerms(batch: TermImportBatch): {
    readonly outcomes: readonly TermImportOutcome[];
    readonly generation: number;
  } {
    return named(() =>
      this.#main.use((glossary) => ({
        outcomes: importTerms(glossary, batch),
        generation: readGeneration(glossary),
      })),
    );
  }

  page({ file, ...query }: TermPageQuery & { readonly file: GlossaryFile }): readonly ReportedTerm[] {
    return this.#reading(file, (glossary) =>
      termPage(glossary, query).map((term) => reportedTerm({ term, history: [] })),
    );
  }

  close(): void {
    this.#others.close();
    this.#main.close();
  }

  #reading<T>(file: GlossaryFile, work: (glossary: OpenGlossary) => T): T {
    return named(() => (file === null ? this.#main.use(work) : this.#others.use(file, work)));
  }

  #changing(change: (glossary: MainGlossary) => StoredTerm): ChangedTerm {
    return named(() =>
      this.#main.use((glossary) => {
        const term = change(glossary);
        return {
          term: reportedTerm({ term, history: termHistory(glossary, term.termId) }),
          generation: readGeneration(glossary),
        };
      }),
    );
  }
}

export function createStore({
  path,
  clock = systemClock,
}: {
  readonly path: string;
  readonly clock?: Clock;
}): GlossaryStore {
  return new GlossaryStore(path, clock);
}

function summaryOf(glossary: OpenGlossary): GlossarySummary {
  const pairs = countTerms(glossary);
  const counts: Record<string, number> = { draft: 0, approved: 0, deprecated: 0, rejected: 0 };
  for (const pair of pairs) {
    for (const [status, count] of Object.entries(pair.counts)) counts[status] = (counts[status] ?? 0) + count;
  }
  return {
    counts,
    generation: readGeneration(glossary),
    pairs: pairs.map(({ sourceLanguage, targetLanguage, counts }) => ({
      source_language: sourceLanguage,
      target_language: targetLanguage,
      counts: { ...counts },
    })),
  };
}

/** Runs work; its storage errors get the code that they have for callers. */
function named<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const failure = storageFailureOf(error);
    if (error instanceof DatabaseError || (failure !== null && !DISK_FAILURES.has(failure.code))) {
      throw Object.assign(new Error(messageOf(error)), { code: UNAVAILABLE });
    }
    if (failure === null) throw error;
    throw Object.assign(new Error(`${messageOf(error)}; ${failure.advice}`), { code: failure.code });
  }
}
