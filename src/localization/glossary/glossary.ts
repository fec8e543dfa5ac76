import { isOfClosedThread, openThread, type Thread, ThreadError } from '../../platform/threads/thread.ts';
import { join } from 'node:path';
import type { LanguagePair, TermWording } from '../../domain/glossary/term.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { DefinedAction } from '../../engine/define-action.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { DefinedReport } from '../../engine/define-report.ts';
import type { DoctorCheck } from '../../engine/check.ts';
import type { Publisher } from '../../engine/events/events.ts';
import type { Job } from '../../engine/tasks/job.ts';
import type { GlossaryChanged } from '../text-events.ts';
import { glossaryActions } from './glossary-actions.ts';
import type { GlossaryConfiguration } from './glossary-config.ts';
import type { Diagnoses, DiagnosedUnit, DiagnosisRequest } from './glossary-diagnosis.ts';
import { glossaryError, unavailableReason } from './glossary-failure.ts';
import { glossaryJobs } from './glossary-jobs.ts';
import { glossaryReports } from './glossary-reports.ts';
import { createGlossaryFiles, mainGlossaryPath } from './glossary-files.ts';
import type { GlossaryFile, GlossaryStore, GlossarySummary, GlossaryThread } from './glossary-worker.ts';
import { createTermDrafts, type TermDrafts } from './term-drafts.ts';
import { wordingsEverywhere } from '../../domain/glossary/term-wordings.ts';
import type { ReportedTerm } from '../../contract/formats/glossary/term-import.ts';
import { messageOf } from '../../platform/errors.ts';
import { checkStructureInThread } from '../../engine/database/structure-thread.ts';
import { type EmptyAnswers, withoutThreadWhileEmpty } from '../../engine/database/empty-store.ts';
import { wasNeverMade } from '../../engine/database/work-file.ts';

interface GlossaryOptions {
  readonly dataDirectory: string;
  readonly configuration: () => GlossaryConfiguration;
  readonly languages: () => LanguagePair;
  readonly engine: TaskEngine;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly createId: () => string;
  readonly exchangeRoot: () => string;
  readonly version: string;
  readonly events: Publisher<GlossaryChanged>;
  readonly thread?: Thread<GlossaryStore>;
}

interface UnitsToDiagnose {
  readonly units: readonly DiagnosedUnit[];
  /** Another Glossary, relative to its root; default the main one. */
  readonly glossaryPath?: string;
  /** Default: the configured pair. */
  readonly languages?: LanguagePair;
  /** For callers that want the findings only. */
  readonly withoutConstraints?: boolean;
}

export interface GlossaryPort {
  /**
   * Compares texts and their translations with the Glossary.
   *
   * @returns the diagnoses in the order of the units, and the generation of the last of them
   * @throws ServiceError `backend_unavailable`, `invalid_path`, `file_not_found`
   */
  diagnose(wanted: UnitsToDiagnose, signal?: AbortSignal): Promise<Diagnoses>;
  /**
   * The approved terms of a pair of languages that hold everywhere, and their aliases: the important ones first.
   *
   * @param wanted.path another Glossary, relative to its root; `null` for the main one
   * @throws ServiceError `backend_unavailable`, `invalid_path`, `file_not_found`
   */
  approvedTerms(
    wanted: LanguagePair & { readonly path: string | null },
    signal?: AbortSignal,
  ): Promise<readonly TermWording[]>;
  /** The generation of the main Glossary as it was last seen; `null` before that. Constraints change with it. */
  generation(): number | null;
}

export interface Glossary extends GlossaryPort {
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly check: DoctorCheck;
  readonly drafts: TermDrafts;
  /** The state of the main Glossary as it was last read; `null` before that, and while it cannot be used. */
  latestSummary(): GlossarySummary | null;
  /** Opens the main Glossary, so that its state is known. Called at the start. */
  open(): Promise<void>;
  close(): Promise<void>;
}

const NO_TERMS: GlossarySummary = {
  counts: { draft: 0, approved: 0, deprecated: 0, rejected: 0 },
  generation: 0,
  pairs: [],
};
const EMPTY_ANSWERS: EmptyAnswers<GlossaryStore> = {
  summary: (file) => (file === null ? NO_TERMS : undefined),
  damage: () => null,
  // Whoever asks about no text wants to know the generation.
  diagnose: ({ file, units }) =>
    file === null && units.length === 0 ? { generation: NO_TERMS.generation, diagnoses: [] } : undefined,
};

/** Units of one call of the thread: it answers reports between two calls. */
const UNITS_OF_CALL = 200;

/** Assembles the Glossary: the thread that owns the file, its reports and its actions. */
export function createGlossary(options: GlossaryOptions): Glossary {
  const { dataDirectory, configuration, languages, clock, logger, events } = options;
  const path = mainGlossaryPath(dataDirectory);
  const { thread: owner = openGlossaryThread(path) } = options;
  const thread = withoutThreadWhileEmpty(owner.calls, path, EMPTY_ANSWERS);
  const files = createGlossaryFiles(path, () => configuration().root ?? join(dataDirectory, 'glossary'));
  const rules = (): GlossaryConfiguration['termMissing'] => configuration().termMissing;
  let latest: GlossarySummary | null = null;
  let generation: number | null = null;

  const refresh = async (signal?: AbortSignal): Promise<GlossarySummary> => {
    try {
      latest = await thread.summary(null, { signal });
      ({ generation } = latest);
      return latest;
    } catch (error) {
      latest = null;
      throw error;
    }
  };
  const noteChange = (changed: number): void => {
    if (generation === changed) return;
    generation = changed;
    events.publish({ kind: 'glossary_changed', generation: changed });
    refresh().catch((error: unknown) => {
      logger.warn({ err: error }, 'the state of the Glossary cannot be read');
    });
  };

  return {
    jobs: glossaryJobs({ ...options, thread, onChanged: noteChange }),
    reports: glossaryReports({ thread, files, languages, rules }),
    actions: glossaryActions({ ...options, thread, files, onChanged: noteChange }),
    drafts: createTermDrafts({ ...options, thread, onChanged: noteChange }),
    check: createGlossaryCheck({
      path,
      summary: refresh,
      damage: async () => await thread.damage(),
      clock,
    }),
    diagnose: async (wanted, signal) => {
      const { units, glossaryPath, languages: pair = languages(), withoutConstraints = false } = wanted;
      try {
        const request = { pair, rules: rules(), file: await files.find(glossaryPath), withoutConstraints };
        return await diagnoseInParts(thread, { ...request, units }, signal);
      } catch (error) {
        signal?.throwIfAborted();
        throw glossaryError(error);
      }
    },
    approvedTerms: async ({ path, ...pair }, signal) => {
      try {
        const file = await files.find(path ?? undefined);
        return await readApproved(thread, file, pair, signal);
      } catch (error) {
        signal?.throwIfAborted();
        throw glossaryError(error);
      }
    },
    generation: () => generation,
    latestSummary: () => latest,
    open: async () => {
      try {
        await refresh();
      } catch (error) {
        // A stop does not wait for this.
        if (isOfClosedThread(error)) return;
        logger.error({ err: error }, 'the Glossary cannot be used; its reports and actions answer 503');
      }
    },
    close: async () => {
      await thread.close().catch(() => undefined);
      await owner.close();
    },
  };
}

async function diagnoseInParts(
  thread: GlossaryThread,
  { units, ...request }: DiagnosisRequest & { readonly file: GlossaryFile },
  signal?: AbortSignal,
): Promise<Diagnoses> {
  const diagnoses = [];
  let generation = Infinity;
  for (let start = 0; start === 0 || start < units.length; start += UNITS_OF_CALL) {
    const part = { ...request, units: units.slice(start, start + UNITS_OF_CALL) };
    const answer = await thread.diagnose(part, { signal });
    diagnoses.push(...answer.diagnoses);
    // The Glossary can change between two parts: the caller hears of the oldest one, so that it can ask again.
    generation = Math.min(generation, answer.generation);
  }
  return { generation, diagnoses };
}

/** Terms of one call of the thread. */
const PAGE_TERMS = 500;

async function readApproved(
  thread: GlossaryThread,
  file: GlossaryFile,
  pair: LanguagePair,
  signal: AbortSignal | undefined,
): Promise<readonly TermWording[]> {
  const terms: Parameters<typeof wordingsEverywhere>[0][number][] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const query = { file, ...pair, after, states: ['approved'] as const, limit: PAGE_TERMS };
    const page: readonly ReportedTerm[] = await thread.page(query, { signal });
    for (const { source_term, aliases, recommended_translation, scope, priority } of page) {
      const names = { sourceTerm: source_term, recommendedTranslation: recommended_translation };
      terms.push({ ...names, aliases, scope, priority });
    }
    after = page.length < PAGE_TERMS ? undefined : page.at(-1)?.term_id;
  }
  return wordingsEverywhere(terms);
}

/** MiB. A compiled Glossary of 50,000 terms takes about 60 of it; the memory of SQLite is not part of it. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 32, maxOldGenerationSizeMb: 512 };

function openGlossaryThread(path: string): Thread<GlossaryStore> {
  return openThread<GlossaryStore>({
    purpose: 'owns the Glossary',
    module: new URL('./glossary-worker.ts', import.meta.url),
    data: { path },
    limits: THREAD_LIMITS,
  });
}

/** Checking the structure reads the whole file, so a result is reused for this time. */
const STRUCTURE_EVERY_MS = 3_600_000;

/** The doctor check `database.glossary`: whether the file can be used, and is sound. */
export function createGlossaryCheck({
  path,
  summary,
  damage,
  clock,
  checkStructure = checkStructureInThread,
}: {
  readonly path: string;
  readonly summary: (signal: AbortSignal) => Promise<GlossarySummary>;
  /** Which value of the file is damaged; `null` while none was read. */
  readonly damage: () => Promise<string | null>;
  readonly clock: Clock;
  readonly checkStructure?: (path: string) => Promise<string | null>;
}): DoctorCheck {
  // The structure is checked when the file is opened.
  let checkedAt = clock.monotonic();
  let finding: string | null = null;
  let isChecking = false;
  const check = async (): Promise<void> => {
    isChecking = true;
    try {
      finding = wasNeverMade(path) ? null : await checkStructure(path);
      checkedAt = clock.monotonic();
    } catch (error) {
      // A thread that could not do its work says nothing about the file.
      if (!(error instanceof ThreadError)) finding = messageOf(error);
    } finally {
      isChecking = false;
    }
  };
  return {
    id: 'database.glossary',
    atStart: true,
    run: async (signal) => {
      let state: GlossarySummary;
      let damaged: string | null;
      try {
        state = await summary(signal);
        damaged = await damage();
      } catch (error) {
        signal.throwIfAborted();
        return { status: 'failing', message: unavailableReason(error) };
      }
      const isDue = finding !== null || clock.monotonic() - checkedAt >= STRUCTURE_EVERY_MS;
      if (isDue && !isChecking) void check();
      const found = finding ?? damaged;
      if (found !== null) {
        return {
          status: 'failing',
          message: `the Glossary ${path} is damaged: ${found}; stop the daemon and restore it from a backup with "slipway restore --database glossary"`,
        };
      }
      const { counts, generation } = state;
      const terms = Object.entries(counts).map(([status, count]) => `${count} ${status}`);
      return { status: 'ok', message: `sound, terms: ${terms.join(', ')}; generation ${generation}` };
    },
  };
}
