import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { messageOf } from '../../platform/errors.ts';
import { systemClock } from '../../platform/process/clock.ts';
import { DatabaseError } from '../database/database-error.ts';
import { storageFailureOf } from '../database/storage-failure.ts';
import { createWorkFile } from '../database/work-file.ts';
import {
  createDiagnosis,
  type Diagnoses,
  type DiagnoseUnits,
  type DiagnosisRequest,
} from './glossary-diagnosis.ts';
import { createOtherGlossaries } from './other-glossaries.ts';
import { reportedTerm, type ReportedTerm } from './reported-term.ts';
import { openMainGlossary } from './store/glossary-database.ts';
import {
  createGlossaryImport,
  type ImportTerms,
  type TermImportBatch,
  type TermImportOutcome,
} from './store/glossary-import.ts';
import {
  createGlossaryReader,
  type GlossaryReader,
  type TermPageQuery,
  type TermQuery,
} from './store/glossary-reader.ts';
import {
  createGlossaryWriter,
  type GlossaryWriter,
  type TermAddition,
  type TermTransition,
  type TermUpdate,
} from './store/glossary-writer.ts';
import type { StoredTerm } from './store/stored-term.ts';

/** A file: the real path of another Glossary, or `null` for the main one. */
export type GlossaryFile = string | null;

/** The state of a file. */
export type GlossarySummary = Pick<
  ReportBodyOf<'translation.glossary.summary'>,
  'counts' | 'generation' | 'pairs'
>;

/** A changed term, and the generation after the change. */
export interface ChangedTerm {
  readonly term: ReportedTerm;
  readonly generation: number;
}

/**
 * The functions of the thread that owns the Glossary. Errors have a code: that of a refused change, of a full, read-only or
 * failing disk, or {@link UNAVAILABLE}.
 */
export interface GlossaryCalls {
  summary(file: GlossaryFile): GlossarySummary;
  query(query: TermQuery & { readonly file: GlossaryFile }): {
    readonly total: number;
    readonly items: readonly ReportedTerm[];
  };
  diagnose(request: DiagnosisRequest & { readonly file: GlossaryFile }): Diagnoses;
  add(addition: TermAddition): ChangedTerm;
  update(update: TermUpdate): ChangedTerm;
  transition(transition: TermTransition): ChangedTerm;
  /** Imports terms into the main file. */
  importTerms(batch: TermImportBatch): {
    readonly outcomes: readonly TermImportOutcome[];
    readonly generation: number;
  };
  /** Terms of the main file. */
  page(query: TermPageQuery): readonly ReportedTerm[];
  close(argument: null): void;
}

/** The data of the thread. */
export interface GlossaryThreadData {
  /** The main Glossary. */
  readonly path: string;
}

/** The code of an error that says that a file cannot be used. */
export const UNAVAILABLE = 'glossary_unavailable';

/** Failures of the disk that have a problem code of their own. The one of damage advises what is wrong for human work. */
const DISK_FAILURES: ReadonlySet<string> = new Set(['data_full', 'data_io_error', 'data_read_only']);

/** The main Glossary, opened. */
interface MainGlossary {
  readonly reader: GlossaryReader;
  readonly writer: GlossaryWriter;
  readonly importTerms: ImportTerms;
  readonly diagnose: DiagnoseUnits;
  close(): void;
}

/** Creates the functions of the thread. */
export function createCalls({ path }: GlossaryThreadData): GlossaryCalls {
  const main = createWorkFile({
    path,
    content: 'the Glossary',
    open: openMain,
    monotonic: () => systemClock.monotonic(),
  });
  const others = createOtherGlossaries();
  const reading = <T>(
    file: GlossaryFile,
    work: (glossary: Pick<MainGlossary, 'reader' | 'diagnose'>) => T,
  ): T => named(() => (file === null ? main.use(work) : others.use(file, work)));
  const changing = (change: (writer: GlossaryWriter) => StoredTerm): ChangedTerm =>
    named(() =>
      main.use(({ reader, writer }) => {
        const term = change(writer);
        return {
          term: reportedTerm({ term, history: reader.history(term.termId) }),
          generation: reader.generation(),
        };
      }),
    );
  return {
    summary: (file) => reading(file, ({ reader }) => summaryOf(reader)),
    query: ({ file, ...query }) =>
      reading(file, ({ reader }) => {
        const { total, terms } = reader.query(query);
        return { total, items: terms.map(reportedTerm) };
      }),
    diagnose: ({ file, ...request }) => reading(file, ({ diagnose }) => diagnose(request)),
    add: (addition) => changing((writer) => writer.add(addition)),
    update: (update) => changing((writer) => writer.update(update)),
    transition: (transition) => changing((writer) => writer.transition(transition)),
    importTerms: (batch) =>
      named(() =>
        main.use(({ reader, importTerms }) => ({
          outcomes: importTerms(batch),
          generation: reader.generation(),
        })),
      ),
    page: (query) =>
      reading(null, ({ reader }) => reader.page(query).map((term) => reportedTerm({ term, history: [] }))),
    close: () => {
      others.close();
      main.close();
    },
  };
}

function openMain(path: string): MainGlossary {
  const database = openMainGlossary(path);
  const reader = createGlossaryReader(database);
  const writer = createGlossaryWriter(database);
  return {
    reader,
    writer,
    importTerms: createGlossaryImport(database, writer),
    diagnose: createDiagnosis(reader),
    close: () => database.close(),
  };
}

function summaryOf(reader: GlossaryReader): GlossarySummary {
  const pairs = reader.counts();
  const counts: Record<string, number> = { draft: 0, approved: 0, deprecated: 0, rejected: 0 };
  for (const pair of pairs) {
    for (const [status, count] of Object.entries(pair.counts)) counts[status] = (counts[status] ?? 0) + count;
  }
  return {
    counts,
    generation: reader.generation(),
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
