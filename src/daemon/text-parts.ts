import type { LanguagePair } from '../domain/memory/memory-record.ts';
import type { ReportBodyOf } from '../contract/reports/reports.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import { createBackup, humanDatabases, type Backup } from './backup/backup.ts';
import type { DefinedAction } from './api/define-action.ts';
import type { DefinedReport } from './api/define-report.ts';
import type { DoctorCheck } from './reports/doctor-report.ts';
import type { DaemonBase } from './daemon-base.ts';
import { createGlossary, type Glossary } from './glossary/glossary.ts';
import { createMemory, type Memory } from './memory/memory.ts';
import { createParse, type Parse } from './parse/parse.ts';
import type { ReleaseSource } from './parse/parse-task.ts';
import { localizedStatusOf, type FindRollback } from './releases/localized-status.ts';
import type { Releases } from './releases/releases.ts';
import type { DaemonConfiguration } from './settings/config.ts';
import { exchangeRootOf } from './settings/exchange-config.ts';
import type { Job } from './tasks/job.ts';
import type { TaskEngine } from './tasks/task-engine.ts';
import { createJudging } from './translation/judge/judging.ts';
import { createTranslation, type Translation } from './translation/translation.ts';
import { originOfLocalized } from './upstream/upstream-config.ts';

/** The collaborators of the parts that work with texts. */
export interface TextPartsDependencies {
  readonly engine: TaskEngine;
  readonly createId: () => string;
  readonly pool: HashPool;
  readonly releases: Releases['repository'];
  /** Unix seconds of the next planned backup, or `null`. */
  readonly plannedBackupAt: () => number | null;
  /** Whether the localized release follows by itself. */
  readonly automation: () => ReportBodyOf<'translation.status'>['automation'];
  readonly rollbackOf: FindRollback;
  /** The blockers of every publication, whatever the units are. */
  readonly publishBlockers: () => Readonly<ReportBodyOf<'translation.status'>['publish_blockers']>;
}

/** The parts that work with the texts of releases: from their index to the databases with human work. */
export interface TextParts {
  readonly parse: Parse;
  readonly translation: Translation;
  readonly memory: Memory;
  readonly glossary: Glossary;
  readonly backup: Backup;
  readonly jobs: readonly Job[];
  readonly reports: readonly DefinedReport[];
  readonly actions: readonly DefinedAction[];
  readonly checks: readonly DoctorCheck[];
  /** Queues the runs that bring index and tasks up to date. Called at the start and after a reload. */
  catchUp(): Promise<void>;
}

/** Assembles the parts that work with texts; nothing runs yet. */
export function createTextParts(
  base: Pick<DaemonBase, 'configuration' | 'options' | 'settings' | 'closers'>,
  { engine, createId, pool, releases, plannedBackupAt, ...localized }: TextPartsDependencies,
): TextParts {
  const { configuration, options, settings, closers } = base;
  const current = (): DaemonConfiguration => settings.current().configuration;
  const dataDirectory = configuration.data.dir;
  const exchangeRoot = (): string => exchangeRootOf(current().exchange, dataDirectory);
  const shared = { ...options, dataDirectory, engine, createId, exchangeRoot };
  const parse = createParse({
    ...shared,
    releases: releaseSource(configuration.snapshot.root, releases),
    configuration: () => current().parse,
    // The work on translations is made below, from the units of the index.
    readTranslations: async (request, signal) => await translation.readTranslations(request, signal),
  });
  closers.add('parse index', async () => await parse.close());
  const memory = createMemory({
    ...shared,
    configuration: () => current().memory,
    pair: () => languagePair(current()),
  });
  closers.add('Translation Memory', async () => await memory.close());
  const glossary = createGlossary({
    ...shared,
    configuration: () => current().glossary,
    languages: () => current().translation,
  });
  closers.add('Glossary', async () => await glossary.close());
  const judging = createJudging({
    ...shared,
    unitsAfter: async (query, signal) => await parse.unitsAfter(query, signal),
    glossary,
    memory: memory.translationMemory,
    languages: () => current().translation,
    configuration: () => current().parse,
    termMissing: () => current().glossary.termMissing,
  });
  const translation = createTranslation({
    ...shared,
    parse,
    judging,
    glossary,
    memory: memory.translationMemory,
    onSuperseded: (listener) => {
      memory.onSuperseded(listener);
    },
    languages: () => current().translation,
    exchangeRoot: () => exchangeRootOf(current().exchange, configuration.data.dir),
    configuration: () => current().translation,
    openConflicts: async (signal) => await memory.openConflicts(signal),
    publishPolicy: () => current().localized,
    publishBlockers: localized.publishBlockers,
    localizedStatus: () => localizedStatus(current(), releases, localized),
    officialReleaseId: () => releases.current('official')?.release_id ?? null,
  });
  closers.add('translations', async () => await translation.close());
  const backup = createBackup({
    ...shared,
    databases: humanDatabases(configuration.data.dir),
    configuration: () => current().backup,
    plannedAt: plannedBackupAt,
    pool,
  });
  return {
    parse,
    translation,
    memory,
    glossary,
    backup,
    jobs: [...parse.jobs, ...translation.jobs, ...memory.jobs, ...glossary.jobs, ...backup.jobs],
    reports: [...parse.reports, ...translation.reports, ...memory.reports, ...glossary.reports],
    actions: [...translation.actions, ...memory.actions, ...glossary.actions],
    checks: [parse.check, ...translation.checks, backup.check, memory.check, glossary.check],
    catchUp: async () => {
      await parse.catchUp();
      await translation.catchUp();
    },
  };
}

/** The configured languages, as records name them. */
function languagePair({ translation }: DaemonConfiguration): LanguagePair {
  return { source_language: translation.sourceLanguage, target_language: translation.targetLanguage };
}

/** The releases whose text is indexed. */
function releaseSource(root: string, repository: Releases['repository']): ReleaseSource {
  return {
    root,
    current: () => {
      const current = repository.current('official');
      if (current === null || current.snapshot_id === null) return null;
      return { releaseId: current.release_id, snapshotId: current.snapshot_id };
    },
    kept: () => repository.kept().map(({ release_id }) => release_id),
  };
}

function localizedStatus(
  { upstream }: DaemonConfiguration,
  releases: TextPartsDependencies['releases'],
  { rollbackOf, automation }: Pick<TextPartsDependencies, 'rollbackOf' | 'automation'>,
): ReturnType<typeof localizedStatusOf> &
  Pick<ReportBodyOf<'translation.status'>, 'mirrored_from' | 'automation'> {
  const { state, message, since } = automation();
  return {
    ...localizedStatusOf(releases, rollbackOf),
    mirrored_from: originOfLocalized(upstream),
    automation: { state, message, since },
  };
}
