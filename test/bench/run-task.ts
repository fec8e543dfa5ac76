import { randomUUID } from 'node:crypto';
import { until } from '../support/until.ts';
import { askSite } from './ask-site.ts';
import type { SlipwaySite } from './bytes/slipway-site.ts';

const LONGEST_MS = 900_000;

interface EndedTask<Result> {
  readonly status: string;
  readonly failure_reason: string | null;
  readonly result: Result | null;
}

/**
 * Waits until a task of the daemon of a site has ended.
 *
 * @returns its result
 * @throws Error when it did not succeed
 */
export async function resultOfTask<Result>(site: SlipwaySite, taskId: string): Promise<Result> {
  const task = await until(async () => {
    const answer = await askSite(site, `reports/task.status?task_id=${taskId}`);
    const { task: now } = answer as { task: EndedTask<Result> };
    return ['succeeded', 'failed', 'cancelled'].includes(now.status) ? now : null;
  }, LONGEST_MS);
  if (task.status !== 'succeeded' || task.result === null) {
    throw new Error(`the task ${task.status}: ${task.failure_reason ?? 'no reason'}`);
  }
  return task.result;
}

/**
 * Runs a control action of the daemon of a site to its end.
 *
 * @returns the result of its task
 */
export async function runAction<Result>(site: SlipwaySite, action: string, body: object): Promise<Result> {
  const { task_id } = (await askSite(site, `control/${action}`, body)) as { task_id: string };
  return await resultOfTask<Result>(site, task_id);
}

/** Starts a job of the parse index without an action of its own, by a schedule that runs only when it is ordered to. @returns the id of its task */
export async function startJob(site: SlipwaySite, action: string): Promise<string> {
  const id = `bench-${randomUUID()}`;
  await askSite(site, 'control/schedule-add', {
    id,
    group: 'parse',
    action,
    max_runs: 1,
    delay_seconds: 86_400,
  });
  const { result } = (await askSite(site, 'control/schedule-run', { id })) as {
    result: { task_ids: string[] };
  };
  const [taskId] = result.task_ids;
  if (taskId === undefined) throw new Error(`the job ${action} was not started`);
  return taskId;
}
