import { CHANNELS } from '../../domain/release/channel.ts';
import { parseReleaseId } from '../../domain/release/release-id.ts';
import type { ControlAction } from './actions.ts';
import type { ControlBody, ControlField } from './control-body.ts';
import { SCHEDULE_GROUPS } from '../schemas/vocabulary.ts';
import type { FieldError } from '../problems/service-error.ts';

/** A rule of one action that needs no state. */
type Rule = (body: ControlBody) => FieldError[];

/** Most runs that one `schedule-run` starts. */
const MAX_RUNS_AT_ONCE = 100;
/** States that an external worker may set. */
const SETTABLE_STATUSES = ['pending', 'in_progress', 'translated', 'failed', 'skipped'];
const PATH_FIELDS = [
  'fixture_path',
  'translation_memory_path',
  'glossary_path',
  'translation_file',
  'patch_manifest',
] as const;

/** Rules of single actions beyond required fields and choices, by action. */
export const CONTROL_RULES: Partial<Record<ControlAction, Rule>> = {
  verify: (body) => checkArguments(body, ['channel', 'release_id']),
  repair: (body) => checkArguments(body, ['channel', 'release_id']),
  'release-cleanup': (body) => [
    ...atLeast(body, 'count', 1),
    ...releaseId(body, 'id'),
    ...releaseId(body, 'localized_release_id'),
    ...checkArguments(body, ['dry_run']),
  ],
  'schedule-add': scheduleRule,
  'schedule-update': scheduleRule,
  'schedule-run': (body) => [
    ...oneOf(body, 'group', SCHEDULE_GROUPS),
    ...atLeast(body, 'count', 1),
    ...(body.count !== undefined && body.count > MAX_RUNS_AT_ONCE
      ? [{ pointer: '/count', message: `must not exceed ${MAX_RUNS_AT_ONCE}` }]
      : []),
  ],
  'translation-task-update': (body) => [
    ...oneOf(body, 'status', SETTABLE_STATUSES),
    ...(body.status === 'failed' ? needs(body, ['failure_reason'], 'when `status` is "failed"') : []),
    ...(body.status === 'skipped' ? needs(body, ['reason'], 'when `status` is "skipped"') : []),
  ],
  'translation-worker-run': (body) =>
    body.provider === 'fixture' ? needs(body, ['fixture_path'], 'when `provider` is "fixture"') : [],
  'translation-proofread': proofreadRule,
  'translation-memory-resolve-conflict': resolveRule,
  'translation-glossary-add': (body) => [
    ...oneOf(body, 'review_status', ['draft', 'approved']),
    ...(body.review_status === 'approved' ? needs(body, ['reviewer'], 'to add an approved term') : []),
  ],
  'translation-glossary-update': (body) => [
    ...(body.review_status === 'approved' || body.review_status === 'deprecated'
      ? [
          {
            pointer: '/review_status',
            message: 'must be draft or rejected here; use translation-glossary-approve or -deprecate',
          },
        ]
      : []),
    ...(body.review_status === 'rejected' ? needs(body, ['reviewer', 'reason'], 'to reject a term') : []),
  ],
  'localized-publish': (body) => releaseId(body, 'localized_release_id'),
  'localized-rollback': (body) => releaseId(body, 'localized_release_id'),
};

/**
 * Checks that the path fields of a body stay below their roots as far as text can tell; the daemon resolves links.
 *
 * @returns one error a path that is absolute, climbs, or holds what no file name may
 */
export function checkPaths(body: ControlBody): FieldError[] {
  return PATH_FIELDS.flatMap((field) => {
    const path = body[field];
    if (path === undefined || isRelativePath(path)) return [];
    return [
      {
        pointer: `/${field}`,
        message: 'must be a path relative to its root, without "..", "\\" or control characters',
      },
    ];
  });
}

/** Names fields that are missing or empty. */
export function needs(body: ControlBody, fields: readonly ControlField[], when: string): FieldError[] {
  return fields
    .filter((field) => body[field] === undefined || body[field] === '')
    .map((field) => ({ pointer: `/${field}`, message: `is required ${when} and must not be empty` }));
}

function scheduleRule(body: ControlBody): FieldError[] {
  return [
    ...oneOf(body, 'group', SCHEDULE_GROUPS),
    ...atLeast(body, 'every_seconds', 1),
    ...atLeast(body, 'delay_seconds', 0),
    ...atLeast(body, 'next_run_unix_seconds', 0),
    ...(body.args ?? []).flatMap((argument, index) =>
      argument.indexOf('=') > 0
        ? []
        : [{ pointer: `/args/${index}`, message: 'must have the form key=value' }],
    ),
  ];
}

function proofreadRule(body: ControlBody): FieldError[] {
  if (body.translation_file !== undefined) return needs(body, ['reviewer'], 'to import reviewed results');
  if (body.task_id === undefined) return [];
  return [
    ...needs(body, ['reviewer', 'status'], 'to review a task'),
    ...oneOf(body, 'status', ['proofread', 'pending']),
    ...(body.status === 'pending' ? needs(body, ['reason'], 'to reject a task') : []),
  ];
}

function resolveRule(body: ControlBody): FieldError[] {
  const ids = body.expected_trusted_record_ids ?? [];
  const pointer = '/expected_trusted_record_ids';
  if (ids.length < 2) return [{ pointer, message: 'must name at least two records' }];
  if (new Set(ids).size !== ids.length) return [{ pointer, message: 'must not name a record twice' }];
  if (body.winner_record_id !== undefined && !ids.includes(body.winner_record_id)) {
    return [{ pointer: '/winner_record_id', message: 'must be one of expected_trusted_record_ids' }];
  }
  return [];
}

function checkArguments(body: ControlBody, keys: readonly string[]): FieldError[] {
  return (body.args ?? []).flatMap((argument, index) => {
    const at = argument.indexOf('=');
    const [key, value] = [argument.slice(0, Math.max(at, 0)), argument.slice(at + 1)];
    const message = keys.includes(key)
      ? argumentProblem(key, value)
      : `must be one of ${keys.map((each) => `${each}=...`).join(', ')}`;
    return message === null ? [] : [{ pointer: `/args/${index}`, message }];
  });
}

function argumentProblem(key: string, value: string): string | null {
  if (key === 'channel') {
    return CHANNELS.some((each) => each === value) ? null : `channel must be one of ${CHANNELS.join(', ')}`;
  }
  if (key === 'dry_run')
    return value === 'true' || value === 'false' ? null : 'dry_run must be true or false';
  const parsed = parseReleaseId(value);
  return parsed.ok ? null : parsed.error;
}

function releaseId(body: ControlBody, field: 'id' | 'localized_release_id'): FieldError[] {
  const value = body[field];
  if (value === undefined) return [];
  const parsed = parseReleaseId(value);
  return parsed.ok ? [] : [{ pointer: `/${field}`, message: parsed.error }];
}

function atLeast(
  body: ControlBody,
  field: 'count' | 'every_seconds' | 'delay_seconds' | 'next_run_unix_seconds',
  minimum: number,
): FieldError[] {
  const value = body[field];
  return value === undefined || value >= minimum
    ? []
    : [{ pointer: `/${field}`, message: `must be at least ${minimum}` }];
}

function oneOf(
  body: ControlBody,
  field: 'group' | 'status' | 'review_status',
  values: readonly string[],
): FieldError[] {
  const value = body[field];
  return value === undefined || values.includes(value)
    ? []
    : [{ pointer: `/${field}`, message: `must be one of ${values.join(', ')}` }];
}

function isRelativePath(path: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (path === '' || /[\u0000-\u001f\u007f\\]/.test(path)) return false;
  return path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}
