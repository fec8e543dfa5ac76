import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { UNIT_STATES, type UnitState } from '../../../domain/translation/unit-state.ts';
import { textOption, type CtlArguments } from '../ctl-options.ts';
import { eachTask } from './service-pages.ts';

/** The units that `--task` or `--destination` choose. */
export interface UnitQuery {
  readonly taskId: string | null;
  /** Filters of the text-units report. The container of a task can be in one destination with others. */
  readonly query: Readonly<Record<string, string>>;
}

/** Reads `--task` and `--destination`. @throws CtlFailure */
export async function unitQueryOf({ api, args }: CtlContext): Promise<UnitQuery> {
  const taskId = textOption(args, 'task') ?? null;
  const glob = textOption(args, 'destination');
  if (taskId === null) return { taskId, query: glob === undefined ? {} : { path_pattern: glob } };
  if (glob !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, 'give either --task or --destination, not both');
  }
  for await (const task of eachTask(api, { task_id: taskId })) {
    if (task.status === 'superseded') {
      const message = `${taskId} is of the earlier release ${task.release_id}; choose ${task.destination} with --destination`;
      throw new CtlFailure(CTL_EXITS.failed, message);
    }
    const { destination, archive_entry: entry } = task;
    return { taskId, query: { destination, ...(entry === null ? {} : { archive_entry: entry }) } };
  }
  throw new CtlFailure(CTL_EXITS.failed, `there is no translation task ${taskId}`);
}

/** Reads `--state`; `null` when it was not given. @throws CtlFailure */
export function statesOption(args: CtlArguments): readonly UnitState[] | null {
  const text = textOption(args, 'state');
  if (text === undefined) return null;
  const named = text.split(',').map((state) => state.trim());
  const states = UNIT_STATES.filter((state) => named.includes(state));
  if (named.every((name) => states.some((state) => state === name))) return states;
  throw new CtlFailure(
    CTL_EXITS.usage,
    `--state ${text}: must be one or more of ${UNIT_STATES.join(', ')}, separated by commas`,
  );
}
