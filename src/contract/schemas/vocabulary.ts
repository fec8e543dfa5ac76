/** Groups of schedules. */
export const SCHEDULE_GROUPS = ['res', 'parse', 'i18n'] as const;

export type ScheduleGroup = (typeof SCHEDULE_GROUPS)[number];

/** Where a schedule comes from: the daemon's configuration, a caller, or a ReleaseChannel. */
export const SCHEDULE_ORIGINS = ['configured', 'manual', 'controller'] as const;

export type ScheduleOrigin = (typeof SCHEDULE_ORIGINS)[number];

/** States of a task that has ended. */
export const ENDED_TASK_STATUSES = ['succeeded', 'failed', 'cancelled'] as const;

/** States of a task of the daemon. `cancelling` is a running task that was asked to stop. */
export const TASK_STATUSES = ['queued', 'running', 'cancelling', ...ENDED_TASK_STATUSES] as const;

/** Lanes of the daemon; each runs one task at a time, `admin` runs inside the request. */
export const TASK_LANES = ['release', 'verify', 'repair', 'parse', 'i18n', 'admin'] as const;

/** Outcomes of parsing a container. */
export const PARSE_STATUSES = ['pending', 'parsed', 'partial', 'unsupported', 'failed', 'stale'] as const;

/** How a text unit follows one of the previous release, the strongest evidence first. */
export const CARRY_TIERS = ['same', 'moved', 'unique', 'changed'] as const;

/** States of a translation task. */
export const TRANSLATION_STATUSES = [
  'pending',
  'in_progress',
  'blocked',
  'translated',
  'proofread',
  'published',
  'failed',
  'skipped',
  'superseded',
] as const;

/** States of the worker on a translation task. */
export const WORKER_STATUSES = [
  'idle',
  'leased',
  'retry_wait',
  'succeeded',
  'blocked',
  'failed',
  'cancelled',
] as const;

/** Kinds of authors of a target. */
export const AUTHOR_KINDS = ['machine', 'person', 'import', 'memory'] as const;

/** States of a release; `building`, `rolled_back` and `failed` only for localized ones. */
export const RELEASE_STATES = [
  'staging',
  'building',
  'verified',
  'current',
  'superseded',
  'rolled_back',
  'damaged',
  'failed',
  'deleted',
] as const;

/** States of a Translation Memory record. */
export const MEMORY_STATES = ['candidate', 'trusted', 'superseded', 'rejected'] as const;

/** Levels of a line of a log. */
export const LOG_LINE_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** Number of minutes that a server remembers of itself: 24 hours. */
export const HISTORY_MINUTES = 1440;

/**
 * The groups of control actions that a token can be limited to. `translate` writes translations and drafts of terms, `review`
 * accepts and decides, `publish` makes localized releases and takes them back, `operate` is everything else.
 */
export const CONTROL_SCOPES = ['translate', 'review', 'publish', 'operate'] as const;
