import { join } from 'node:path';
import type { LanguagePair } from '../../domain/glossary/term.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Thread } from '../../platform/threads/thread.ts';
import type { DefinedAction } from '../api/define-action.ts';
import type { DefinedReport } from '../api/define-report.ts';
import type { DoctorCheck } from '../reports/doctor-report.ts';
import type { Job } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { createGlossaryActions } from './glossary-actions.ts';
import { createGlossaryCheck } from './glossary-check.ts';
import type { GlossaryConfiguration } from './glossary-config.ts';
import type { Diagnoses, DiagnosedUnit } from './glossary-diagnosis.ts';
import { glossaryError } from './glossary-failure.ts';
import { createGlossaryJobs } from './create-glossary-jobs.ts';
import { createGlossaryReports } from './glossary-reports.ts';
import {
  createGlossaryFiles,
  createGlossaryThread,
  DEFAULT_ROOT,
  mainGlossaryPath,
} from './glossary-thread.ts';
import type { GlossaryCalls, GlossarySummary } from './glossary-worker.ts';

export interface GlossaryOptions {
  /** The private folder of the daemon. */
  readonly dataDirectory: string;
  readonly configuration: () => GlossaryConfiguration;
  /** The configured pair of languages. */
  readonly languages: () => LanguagePair;
  readonly engine: Pick<TaskEngine, 'submit' | 'recordInline'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly createId: () => string;
  /** The folder of exchanged files. */
  readonly exchangeRoot: () => string;
  /** Of the program. */
  readonly version: string;
  /** Default: a new one. */
  readonly thread?: Thread<GlossaryCalls>;
}

/** Texts that another part wants diagnosed. */
export interface UnitsToDiagnose {
  readonly units: readonly DiagnosedUnit[];
  /** Another Glossary, relative to its root; default the main one. */
  readonly glossaryPath?: string;
  /** Default: the configured pair. */
  readonly languages?: LanguagePair;
  /** For callers that want the findings only. */
  readonly withoutConstraints?: boolean;
}

/** The Glossary for the other parts of the daemon. */
export interface GlossaryPort {
  /**
   * Compares texts and their translations with the Glossary.
   *
   * @returns the diagnoses in the order of the units, and the generation of the last of them
   * @throws ServiceError `backend_unavailable`, `invalid_path`, `file_not_found`
   */
  diagnose(wanted: UnitsToDiagnose, signal?: AbortSignal): Promise<Diagnoses>;
  /** The generation of the main Glossary as it was last seen; `null` before that. Constraints change with it. */
  generation(): number | null;
  /** Calls a listener after each change of the main Glossary. */
  onChanged(listener: (generation: number) => void): void;
}

/** Terms, their reviews, and what they demand of translations. */
export interface Glossary extends GlossaryPort {
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly check: DoctorCheck;
  /** The state of the main Glossary as it was last read; `null` before that, and while it cannot be used. */
  latestSummary(): GlossarySummary | null;
  /** Opens the main Glossary, so that its state is known. Called at the start. */
  open(): Promise<void>;
  /** Ends the thread. */
  close(): Promise<void>;
}

/** Units of one call of the thread: it answers reports between two calls. */
const UNITS_OF_CALL = 200;

/** Assembles the Glossary: the thread that owns the file, its reports and its actions. */
export function createGlossary(options: GlossaryOptions): Glossary {
  const { dataDirectory, configuration, languages, clock, logger } = options;
  const path = mainGlossaryPath(dataDirectory);
  const { thread = createGlossaryThread(path) } = options;
  const files = createGlossaryFiles({
    path,
    root: () => configuration().root ?? join(dataDirectory, DEFAULT_ROOT),
  });
  const rules = (): GlossaryConfiguration['termMissing'] => configuration().termMissing;
  const listeners: ((generation: number) => void)[] = [];
  let latest: GlossarySummary | null = null;
  let generation: number | null = null;

  const refresh = async (signal?: AbortSignal): Promise<GlossarySummary> => {
    try {
      latest = await thread.call('summary', null, { signal });
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
    for (const listener of listeners) listener(changed);
    refresh().catch((error: unknown) => {
      logger.warn({ err: error }, 'the state of the Glossary cannot be read');
    });
  };

  return {
    jobs: createGlossaryJobs({ ...options, thread, onChanged: noteChange }),
    reports: createGlossaryReports({ thread, files, languages, rules }),
    actions: createGlossaryActions({ ...options, thread, files, onChanged: noteChange }),
    check: createGlossaryCheck({ path, summary: refresh, clock }),
    diagnose: async (wanted, signal) => {
      const { units, glossaryPath, languages: pair = languages(), withoutConstraints = false } = wanted;
      try {
        const request = { pair, rules: rules(), file: await files.find(glossaryPath), withoutConstraints };
        const diagnoses = [];
        let usedGeneration = Infinity;
        for (let start = 0; start === 0 || start < units.length; start += UNITS_OF_CALL) {
          const part = { ...request, units: units.slice(start, start + UNITS_OF_CALL) };
          const answer = await thread.call('diagnose', part, { signal });
          diagnoses.push(...answer.diagnoses);
          // The Glossary can change between two parts: the caller hears of the oldest one, so that it can ask again.
          usedGeneration = Math.min(usedGeneration, answer.generation);
        }
        return { generation: usedGeneration, diagnoses };
      } catch (error) {
        signal?.throwIfAborted();
        throw glossaryError(error);
      }
    },
    generation: () => generation,
    onChanged: (listener) => {
      listeners.push(listener);
    },
    latestSummary: () => latest,
    open: async () => {
      try {
        await refresh();
      } catch (error) {
        logger.error({ err: error }, 'the Glossary cannot be used; its reports and actions answer 503');
      }
    },
    close: async () => {
      await thread.call('close', null).catch(() => undefined);
      await thread.close();
    },
  };
}
