/** The jobs of the group `i18n` that a localized ReleaseChannel can run regularly. A test compares them with those of the daemon. */
export const LOCALIZATION_JOBS = [
  'worker-run',
  'term-mine',
  'proofread',
  'propagate',
  'requalify',
  'task-build',
  'handoff-export',
  'localized-publish',
  'localized-follow',
  'memory-maintain',
  'memory-import',
  'memory-export',
  'glossary-import',
  'glossary-export',
  'backup',
] as const;

export type LocalizationJob = (typeof LOCALIZATION_JOBS)[number];

/** The jobs that publish a localized release. They would replace a pinned one. */
export const PUBLISHING_JOBS: ReadonlySet<LocalizationJob> = new Set([
  'localized-publish',
  'localized-follow',
]);
