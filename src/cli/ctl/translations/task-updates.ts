import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { postAction, type AdminApi } from '../admin-api.ts';

/** A target for `translation-task-update`. */
export interface TargetToSend {
  readonly unitId: string;
  readonly taskId: string;
  readonly sourceText: string;
  readonly text: string;
  /** The revision that the unit must still have. */
  readonly revision: number;
}

/** The fields that all updates of a command share. */
export interface UpdateFields {
  readonly provider?: string;
  readonly provider_run_id?: string;
  readonly worker_id?: string;
  readonly reason?: string;
}

/** Targets of one task that go into one call. */
export interface UpdateBatch<T extends TargetToSend> {
  readonly taskId: string;
  readonly targets: readonly T[];
}

/** Bounds of one call: `args` has at most 1,000 entries, and a body at most 1 MiB. */
const BATCH_UNITS = 900;
const BATCH_BYTES = 900 * 1024;
/** Of the fields of a body, of names and of an entry of `args`. */
const SPARE_BYTES = 256;

const UPDATED = z.looseObject({
  token_id: z.string().nullable().default(null),
  units: z.array(
    z.looseObject({
      unit_id: z.string(),
      revision: z.int(),
      state: z.string(),
      findings: z
        .array(z.looseObject({ check: z.string(), severity: z.string(), message: z.string() }))
        .default([]),
    }),
  ),
});

/** A unit after an update, or after one that was only tried. */
export type UpdatedUnit = z.output<typeof UPDATED>['units'][number];

/** Splits targets into calls: those of one task are together, in their order. */
export function* updateBatches<T extends TargetToSend>(targets: readonly T[]): Generator<UpdateBatch<T>> {
  for (const [taskId, ofTask] of Map.groupBy(targets, (target) => target.taskId)) {
    let batch: T[] = [];
    let bytes = 0;
    for (const target of ofTask) {
      const size = Buffer.byteLength(JSON.stringify(resultOf(target))) + SPARE_BYTES;
      if (batch.length === BATCH_UNITS || (batch.length > 0 && bytes + size > BATCH_BYTES)) {
        yield { taskId, targets: batch };
        batch = [];
        bytes = 0;
      }
      batch.push(target);
      bytes += size;
    }
    yield { taskId, targets: batch };
  }
}

/**
 * Sends targets as work in progress, all or nothing. Nobody's newer work is overwritten: each unit must have the revision that was
 * seen.
 *
 * @param options `isTrial`: the daemon judges the targets and stores nothing
 * @returns the units after it
 * @throws CtlFailure
 */
export async function sendTargets<T extends TargetToSend>(
  api: AdminApi,
  { taskId, targets }: UpdateBatch<T>,
  fields: UpdateFields,
  { isTrial }: { isTrial: boolean },
): Promise<ReadonlyMap<string, UpdatedUnit>> {
  const body = {
    task_id: taskId,
    status: 'in_progress',
    ...fields,
    args: [
      ...targets.map(({ unitId, revision }) => `expect=${unitId}:${revision}`),
      ...(isTrial ? ['dry_run=true'] : []),
    ],
    translation_results: targets.map(resultOf),
  };
  const { units } = await postAction(api, 'translation-task-update', body, UPDATED);
  return new Map(units.map((unit) => [unit.unit_id, unit]));
}

/**
 * Asks under which id the daemon knows the token of this command: that of the authors of its targets. Nothing is changed.
 *
 * @param taskId any current task
 * @returns `null` when there is no token
 * @throws CtlFailure
 */
export async function readOwnToken(api: AdminApi, taskId: string): Promise<string | null> {
  const body = { task_id: taskId, args: ['dry_run=true'], translation_results: [] };
  return (await postAction(api, 'translation-task-update', body, UPDATED)).token_id;
}

/** Sets the status of a task to `translated`. @throws CtlFailure */
export async function finishTask(api: AdminApi, taskId: string, fields: UpdateFields): Promise<void> {
  const body = JSON.stringify({ task_id: taskId, status: 'translated', ...fields });
  await api.post('translation-task-update', body, randomUUID());
}

function resultOf({ unitId, sourceText, text }: TargetToSend): object {
  return { unit_id: unitId, source_text: sourceText, translated_text: text };
}
