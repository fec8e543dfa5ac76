import type { Logger } from '../../platform/logging/logging.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { callOf } from '../tasks/job.ts';
import { isCurrentIndex } from './current-index.ts';
import type { IndexStatus } from './index/index-status.ts';
import { PARSE_FULL_JOB, PARSE_JOB } from './parse-jobs.ts';
import type { ReleaseSource } from './parse-task.ts';
import { loadRules, rulesDigest, RulesError } from './rules/load-rules.ts';
import type { ParseConfiguration } from './rules/parse-config.ts';

export interface CatchUpOptions {
  readonly engine: Pick<TaskEngine, 'submit' | 'onFinished'>;
  readonly releases: Pick<ReleaseSource, 'current'>;
  readonly configuration: () => ParseConfiguration;
  /** Reads what the index has. */
  readonly refresh: () => Promise<IndexStatus>;
  readonly logger: Logger;
}

/** Queues runs that bring the index up to date. */
export interface CatchUp {
  /**
   * Queues a run when the index is not that of the current release and rules. While a run is in progress, which may have
   * begun with other rules, it looks again after that run.
   */
  readonly run: () => Promise<void>;
  /** A run begins. */
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
