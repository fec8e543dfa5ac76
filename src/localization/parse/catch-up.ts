import { isOfClosedThread } from '../../platform/threads/thread.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import { callOf } from '../../engine/tasks/job.ts';
import { isCurrentIndex, type IndexStatus } from './index/index-status.ts';
import { PARSE_FULL_JOB, PARSE_JOB } from './parse-jobs.ts';
import type { ReleaseSource } from './parse-task.ts';
import { loadRules, rulesDigest, RulesError } from './rules/load-rules.ts';
import type { ParseConfiguration } from './rules/parse-config.ts';

interface CatchUpOptions {
  readonly engine: TaskEngine;
  readonly releases: ReleaseSource;
  readonly configuration: () => ParseConfiguration;
  readonly refresh: () => Promise<IndexStatus>;
  readonly logger: Logger;
}

export interface CatchUp {
  /**
   * Queues a run when the index is not that of the current release and rules. While a run is in progress, which may have
   * begun with other rules, it checks again after that run.
   */
  readonly run: () => Promise<void>;
  readonly noteBegin: () => void;
}

/** Creates the part that queues runs. */
export function createCatchUp({ engine, releases, configuration, refresh, logger }: CatchUpOptions): CatchUp {
  let isRunning = false;
  let again = false;
  const run = async (): Promise<void> => {
    try {
      const status = await refresh();
      const settings = configuration();
      const current = releases.current();
      if (!settings.automatic || current === null) return;
      const digest = rulesDigest(await loadRules(settings));
      if (isCurrentIndex(status, current.releaseId, digest)) return;
      if (isRunning) again = true;
      else engine.submit({ ...callOf(PARSE_JOB, {}), dedupe: true });
    } catch (error) {
      // A stop does not wait for this.
      if (isOfClosedThread(error)) return;
      const problem =
        error instanceof RulesError
          ? 'the text of releases is not indexed, because the rules cannot be used; correct them and reload'
          : 'the parse index cannot be read; run "slipway ctl parse" when the cause is gone';
      logger.error({ err: error }, problem);
    }
  };
  engine.onFinished(({ kind }) => {
    if (kind !== PARSE_JOB.kind && kind !== PARSE_FULL_JOB.kind) return;
    isRunning = false;
    if (!again) return;
    again = false;
    void run();
  });
  return {
    run,
    noteBegin: () => {
      isRunning = true;
    },
  };
}
