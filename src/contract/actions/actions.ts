import type { ActionDefinition } from './action-definition.ts';
import { DAEMON_ACTIONS } from './actions-daemon.ts';
import { RELEASE_ACTIONS } from './actions-releases.ts';
import { TRANSLATION_ACTIONS } from './actions-translation.ts';

/** Fields that every action accepts and records on its task. */
export const AUDIT_FIELDS = ['reviewer', 'reason'] as const;

const ACTIONS = { ...DAEMON_ACTIONS, ...RELEASE_ACTIONS, ...TRANSLATION_ACTIONS } as const satisfies Record<
  string,
  ActionDefinition
>;

export type ControlAction = keyof typeof ACTIONS;

export type ActionTable = typeof ACTIONS;

export type AuditField = (typeof AUDIT_FIELDS)[number];

/** Every control action, in the order of the specification. */
export const CONTROL_ACTIONS = [
  'reload',
  'refresh',
  'restart',
  'sync',
  'verify',
  'repair',
  'catalog-refresh',
  'schedule-add',
  'schedule-update',
  'schedule-remove',
  'schedule-run',
  'task-cancel',
  'translation-task-update',
  'translation-worker-run',
  'translation-proofread',
  'translation-memory-confirm',
  'translation-memory-resolve-conflict',
  'translation-glossary-add',
  'translation-glossary-update',
  'translation-glossary-approve',
  'translation-glossary-deprecate',
  'translation-glossary-delete',
  'localized-publish',
  'localized-rollback',
  'release-cleanup',
] as const satisfies readonly ControlAction[];

/** Whether untrusted text names a control action. */
export function isControlAction(text: string): text is ControlAction {
  return Object.hasOwn(ACTIONS, text);
}

/** The definition of an action, with the types of the table widened to {@link ActionDefinition}. */
export function actionDefinition(action: ControlAction): ActionDefinition {
  return ACTIONS[action];
}
