import type { ProblemDefinition } from './problem-definition.ts';

/**
 * Codes with which the daemon refuses a control action or a report. The service answers those with status 400 as they
 * are; 404, 409 and 422, and 503 of a part that cannot be used, become 502 `daemon_rejected` with the code in `daemon.code`.
 */
export const DAEMON_PROBLEMS = {
  action_not_schedulable: {
    status: 400,
    title: 'Action not schedulable',
    description: 'A schedule of this group cannot run this action; the detail lists the allowed actions.',
  },
  invalid_path: {
    status: 400,
    title: 'Invalid path',
    description:
      'A path leaves its configured root, is absolute or malformed, or, in a query, names no file; send it relative to the root.',
  },
  scope_missing: {
    status: 403,
    title: 'Scope missing',
    description:
      'The token may not call this action. The detail names the scopes that are missing; use another token, or extend `auth.tokens[].allow`.',
  },
  file_not_found: {
    status: 404,
    title: 'File not found',
    description: 'A well-formed path of the body names no file below its configured root.',
  },
  no_attestation: {
    status: 404,
    title: 'No attestation',
    description: 'The daemon has not issued an attestation for this store yet. Sync a release.',
  },
  standby: {
    status: 503,
    title: 'Standby',
    description:
      'The daemon waits for another one that has the snapshot volume, or for the volume; the detail says for which. It takes over when the other one has ended.',
  },
  unknown_record: {
    status: 404,
    title: 'Unknown record',
    description: 'No Translation Memory record has this `record_id`.',
  },
  unknown_release: {
    status: 404,
    title: 'Unknown release',
    description: 'The daemon has no release with this id.',
  },
  unknown_report: { status: 404, title: 'Unknown report', description: 'No report has this name.' },
  unknown_schedule: {
    status: 404,
    title: 'Unknown schedule',
    description: 'No schedule has this `id`, or none is in this `group`.',
  },
  unknown_term: {
    status: 404,
    title: 'Unknown term',
    description: 'No live Glossary term has this `term_id`.',
  },
  unknown_translation_task: {
    status: 404,
    title: 'Unknown translation task',
    description: 'No translation task has this `task_id`.',
  },
  base_mismatch: {
    status: 409,
    title: 'Base release mismatch',
    description:
      'The inputs or the localized release were made for an official release other than the current one.',
  },
  channel_mirrored: {
    status: 409,
    title: 'Channel mirrored',
    description:
      'This channel of this edge is copied from its origin. Publish, roll back and switch at the origin.',
  },
  conflict_group_changed: {
    status: 409,
    title: 'Conflict group changed',
    description: 'The trusted records of the group have changed. Read the conflicts again.',
  },
  data_damaged: {
    status: 409,
    title: 'Database damaged',
    description: 'The database of the daemon is damaged. Restart the daemon: it rebuilds the database.',
  },
  data_full: {
    status: 409,
    title: 'Data folder full',
    description: 'The volume of `data.dir` is full, so that the daemon accepts no action. Free space on it.',
  },
  data_io_error: {
    status: 409,
    title: 'Data folder failing',
    description: 'The disk behind `data.dir` returns errors. Check it, then try again.',
  },
  data_read_only: {
    status: 409,
    title: 'Data folder read-only',
    description: 'The daemon cannot write to `data.dir`. Mount it read-write.',
  },
  four_eyes_required: {
    status: 409,
    title: 'Four eyes required',
    description:
      'The token of the reviewer is that of the author of a target, and `translation.review.fourEyes` is on. Another person must accept it.',
  },
  invalid_transition: {
    status: 409,
    title: 'Invalid transition',
    description: 'The task, term or record cannot change from its current state to the requested one.',
  },
  lease_held: {
    status: 409,
    title: 'Lease held',
    description: 'Another worker holds a live lease on the task. Wait for it, or send `force`.',
  },
  no_official_release: {
    status: 409,
    title: 'No official release',
    description: 'There is no verified current official release to build on. Sync one.',
  },
  not_announced: {
    status: 409,
    title: 'Release not announced',
    description: 'The release is not announced, so there is no switch to bring forward.',
  },
  nothing_to_roll_back: {
    status: 409,
    title: 'Nothing to roll back',
    description: 'No earlier localized release can become current.',
  },
  override_stale: {
    status: 409,
    title: 'Override stale',
    description:
      'The `qa_identity` of the override is not the current one. Diagnose again and confirm again.',
  },
  release_exists: {
    status: 409,
    title: 'Release exists',
    description: 'The release id is used by a release with other content. Choose another one.',
  },
  release_protected: {
    status: 409,
    title: 'Release protected',
    description:
      'The release is current, previous, pinned or the base of a kept release, so it is not removed.',
  },
  revision_changed: {
    status: 409,
    title: 'Revision changed',
    description:
      'A unit has another revision than `expect` says, or changed during a review: someone else worked on it. Read the unit again.',
  },
  schedule_configured: {
    status: 409,
    title: 'Schedule configured',
    description:
      'The schedule comes from the configuration of the daemon. Change the setting that the detail names, then reload; only `enabled` can be changed here.',
  },
  schedule_disabled: {
    status: 409,
    title: 'Schedule disabled',
    description: 'The schedule is disabled. Enable it, or send `force`.',
  },
  schedule_exists: {
    status: 409,
    title: 'Schedule exists',
    description: 'A schedule with this `id` exists. Update it, or choose another id.',
  },
  source_mismatch: {
    status: 409,
    title: 'Source mismatch',
    description: 'A result belongs to a different source text than the stored one. Export a new hand-off.',
  },
  store_locked: {
    status: 409,
    title: 'Store locked',
    description: 'Another task holds the snapshot store exclusively. Retry when it has ended.',
  },
  task_already_terminal: {
    status: 409,
    title: 'Task already terminal',
    description: 'The task has ended and cannot be cancelled.',
  },
  term_approved: {
    status: 409,
    title: 'Term approved',
    description: 'An approved term can only be deleted with `force`. Deprecate it first.',
  },
  term_conflict: {
    status: 409,
    title: 'Term conflict',
    description:
      'An approved term of equal scope and priority has another translation. Deprecate one, or send `force`.',
  },
  term_exists: {
    status: 409,
    title: 'Term exists',
    description: 'A live term has the same languages, source term, scope and category. Update that one.',
  },
  trusted_conflict: {
    status: 409,
    title: 'Trusted conflict',
    description:
      'A trusted record with the same identity has another target. Name it in `supersede_record_id`, or send `force`.',
  },
  config_invalid: {
    status: 422,
    title: 'Configuration invalid',
    description: 'The new configuration is invalid and the old one is kept; the detail lists the problems.',
  },
  coverage_incomplete: {
    status: 422,
    title: 'Coverage incomplete',
    description:
      'No unit can be published, or a smaller part than `localized.minCoverage` demands. Translate or accept more, lower `localized.minState` or `localized.minCoverage`, or send `force`.',
  },
  provider_not_configured: {
    status: 422,
    title: 'Provider not configured',
    description: 'The daemon has no translation provider of this name. Configure it, or use `fixture`.',
  },
  qa_blocked: {
    status: 422,
    title: 'Blocked by quality checks',
    description: 'A translation has a blocking finding; the detail names the units and their `qa_identity`.',
  },
  restart_unsupported: {
    status: 422,
    title: 'Restart unsupported',
    description: 'Nothing would restart the daemon. Run it under a supervisor and set `supervised` to true.',
  },
  units_missing: {
    status: 422,
    title: 'Units missing',
    description: 'The task cannot be `translated` while units have no target.',
  },
  upstream_not_configured: {
    status: 422,
    title: 'Upstream not configured',
    description: 'The daemon has no upstream to sync from. Configure one.',
  },
} as const satisfies Record<string, ProblemDefinition>;
