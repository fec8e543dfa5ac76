import type { DefinedAction } from '../api/define-action.ts';
import type { Job } from '../tasks/job.ts';
import { createPublishAction, type PublishActionOptions } from './publish/publish-action.ts';
import { createPublishTask, type PublishDependencies } from './publish/publish-task.ts';

export type LocalizedOptions = PublishDependencies & PublishActionOptions;

/** The functions of the localized channel. */
export interface Localized {
  readonly jobs: readonly Job[];
  readonly actions: readonly DefinedAction[];
}

/** Assembles the functions of the localized channel; nothing runs yet. */
export function createLocalized(options: LocalizedOptions): Localized {
  return {
    jobs: [createPublishTask(options)],
    actions: [createPublishAction(options)],
  };
}
