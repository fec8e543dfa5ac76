import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { AcceptedAnswer } from '../../../contract/schemas/answers/admin.ts';
import type { AdminApi } from '../admin-api.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import type { ServiceTask } from './service-pages.ts';

/** The fields of a review of a task. */
export interface ReviewFields {
  readonly reviewer: string;
  readonly reason?: string;
}

/** The outcome of one task. */
export interface AcceptOutcome {
  readonly task_id: string;
  readonly destination: string;
  /** `ready`: it could be accepted; `refused`: the daemon says in `detail` why it cannot. */
  readonly outcome: 'accepted' | 'ready' | 'refused' | 'not_sent';
  /** Units whose targets the review accepts. */
  readonly units: number;
  readonly detail: string;
}

export interface AcceptResult {
  readonly outcomes: readonly AcceptOutcome[];
  /** Why the command ended before its end; `null` when it did not. */
  readonly failure: CtlFailure | null;
}

export interface AcceptOptions {
  readonly fields: ReviewFields;
  /** Whether the daemon examines the reviews and accepts nothing. */
  readonly isTrial: boolean;
  /** Hears how many tasks are done. */
  readonly progress: (done: number) => void;
}

const RESULT = AcceptedAnswer.schema.extend({ result: z.looseObject({ written: z.int() }) });

/**
 * Accepts translated tasks, each on its own merits: one that the daemon refuses does not stop the others. Another failure ends the work.
 */
export async function acceptTasks(
  api: Pick<AdminApi, 'post'>,
  tasks: readonly ServiceTask[],
  { fields, isTrial, progress }: AcceptOptions,
): Promise<AcceptResult> {
  const outcomes: AcceptOutcome[] = [];
  let failure: CtlFailure | null = null;
  for (const { task_id, destination } of tasks) {
    const named = { task_id, destination, units: 0, detail: '' };
    if (failure !== null) {
      outcomes.push({ ...named, outcome: 'not_sent' });
      continue;
    }
    try {
      const units = await acceptTask(api, task_id, fields, isTrial);
      outcomes.push({ ...named, outcome: isTrial ? 'ready' : 'accepted', units });
    } catch (error) {
      if (!(error instanceof CtlFailure)) throw error;
      const [detail = ''] = error.message.split('\n', 1);
      outcomes.push({ ...named, outcome: 'refused', detail });
      if (error.exit !== CTL_EXITS.failed) failure = error;
    }
    progress(outcomes.length);
  }
  return { outcomes, failure };
}

/** @returns how many units were accepted, or would be */
async function acceptTask(
  api: Pick<AdminApi, 'post'>,
  taskId: string,
  fields: ReviewFields,
  isTrial: boolean,
): Promise<number> {
  const args = isTrial ? { args: ['dry_run=true'] } : {};
  const body = JSON.stringify({ task_id: taskId, status: 'proofread', ...fields, ...args });
  const { value } = await api.post('translation-proofread', body, randomUUID());
  const parsed = RESULT.safeParse(value);
  if (parsed.success) return parsed.data.result.written;
  throw new CtlFailure(CTL_EXITS.unreachable, 'the daemon sent an answer that this version cannot read');
}
