import type { ControlAction } from './actions.ts';
import type { ControlBody, ControlField } from './control-body.ts';
import type { FieldError } from '../problems/service-error.ts';
import { mustBeOneOf } from '../problems/value-errors.ts';

type Rule = (body: ControlBody) => FieldError[];

const PATH_FIELDS = [
  'fixture_path',
  'translation_memory_path',
  'glossary_path',
  'translation_file',
  'patch_manifest',
] as const;

/** Rules of single actions about several fields, beyond required ones and choices. */
export const CONTROL_RULES: Partial<Record<ControlAction, Rule>> = {
  'translation-task-update': (body) => [
    ...(body.status === 'failed' ? needs(body, ['failure_reason'], 'when `status` is "failed"') : []),
    ...(body.status === 'skipped' ? needs(body, ['reason'], 'when `status` is "skipped"') : []),
  ],
  'translation-worker-run': fixtureRule,
  'translation-proofread': proofreadRule,
  'translation-memory-resolve-conflict': resolveRule,
  'translation-glossary-add': (body) =>
    body.review_status === 'approved' ? needs(body, ['reviewer'], 'to add an approved term') : [],
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
};

/**
 * Checks that the path fields of a body stay below their roots as far as text shows; the daemon resolves links.
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

function fixtureRule(body: ControlBody): FieldError[] {
  return body.provider === 'fixture' ? needs(body, ['fixture_path'], 'when `provider` is "fixture"') : [];
}

function proofreadRule(body: ControlBody): FieldError[] {
  const isTask = body.task_id !== undefined;
  const isFile = body.translation_file !== undefined;
  const misplaced = [
    ...(isTask
      ? []
      : onlyFor(body, ['status', 'translation_results', 'glossary_override'], 'with `task_id`')),
    ...(isTask || isFile
      ? onlyFor(body, ['max_tasks', 'provider', 'fixture_path'], 'without `task_id` and `translation_file`')
      : []),
  ];
  if (isFile) return [...misplaced, ...needs(body, ['reviewer'], 'to import reviewed results')];
  if (!isTask) return [...misplaced, ...fixtureRule(body)];
  return [
    ...misplaced,
    ...needs(body, ['reviewer', 'status'], 'to review a task'),
    ...reviewStatus(body),
    ...(body.status === 'pending' ? needs(body, ['reason'], 'to reject a task') : []),
  ];
}

/** Names fields that mean nothing in this use of an action. */
function onlyFor(body: ControlBody, fields: readonly ControlField[], when: string): FieldError[] {
  return fields
    .filter((field) => body[field] !== undefined)
    .map((field) => ({ pointer: `/${field}`, message: `is only used ${when}` }));
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

function reviewStatus({ status }: ControlBody): FieldError[] {
  const values = ['proofread', 'pending'];
  return status === undefined || values.includes(status)
    ? []
    : [{ pointer: '/status', message: mustBeOneOf(values) }];
}

/** Whether a path is relative and cannot climb: no empty, `.` or `..` segment, no `\` and no control character. */
export function isRelativePath(path: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (path === '' || /[\u0000-\u001f\u007f\\]/.test(path)) return false;
  return path.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}
