import type { ControlAction } from '../../contract/actions/actions.ts';
import type { ControlField } from '../../contract/actions/control-body.ts';

/** The fields that the form of an action shows first, in this order; the others are under "More options". */
export function firstFields(action: string, required: readonly string[]): readonly string[] {
  return FIRST_FIELDS[action as ControlAction] ?? required;
}

const FIRST_FIELDS: { readonly [A in ControlAction]?: readonly ControlField[] } = {
  verify: ['args'],
  repair: ['args'],
  'schedule-add': [
    'group',
    'action',
    'args',
    'every_seconds',
    'next_run_unix_seconds',
    'delay_seconds',
    'id',
  ],
  'schedule-update': [
    'id',
    'enabled',
    'every_seconds',
    'next_run_unix_seconds',
    'delay_seconds',
    'args',
    'clear_args',
    'clear_every',
  ],
  'schedule-run': ['id', 'group'],
  'task-cancel': ['task_id', 'reason'],
  'translation-task-update': ['task_id', 'status', 'translation_results', 'failure_reason', 'reason'],
  'translation-worker-run': ['provider', 'max_tasks', 'task_id', 'args'],
  'translation-proofread': ['task_id', 'translation_file', 'status', 'reason'],
  'translation-memory-confirm': ['record_id', 'args', 'reason', 'supersede_record_id'],
  'translation-memory-resolve-conflict': ['winner_record_id', 'expected_trusted_record_ids', 'reason'],
  'translation-glossary-add': [
    'source_term',
    'recommended_translation',
    'source_language',
    'target_language',
    'allowed_translations',
    'aliases',
    'category',
  ],
  'translation-glossary-update': [
    'term_id',
    'source_term',
    'recommended_translation',
    'allowed_translations',
    'aliases',
    'category',
    'reason',
  ],
  'translation-glossary-approve': ['term_id', 'reason'],
  'translation-glossary-delete': ['term_id', 'reason'],
  'localized-publish': ['from_worker', 'translation_file', 'patch_manifest', 'args'],
  'localized-rollback': ['localized_release_id', 'reason'],
  'release-cleanup': ['count', 'id', 'localized_release_id'],
};
