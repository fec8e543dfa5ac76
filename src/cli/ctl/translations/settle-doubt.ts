import type { AdminApi } from '../admin-api.ts';
import { readHistory } from './find-units.ts';
import { plannedOutcome, type DoubtfulUnit, type PlannedUnit } from './import-plan.ts';
import type { UnitOutcome } from './outcomes.ts';
import { isRepetition } from './send-while-free.ts';

/**
 * Decides about units whose target is newer than the file. Their history says which target the file was written with: a file that
 * still has it did not change the unit. A target that is only a repetition of another unit gives way to the one of the file.
 */
export async function settleDoubt(
  api: Pick<AdminApi, 'get'>,
  doubtful: readonly DoubtfulUnit[],
  progress: (text: string) => void,
): Promise<{ readonly outcomes: readonly UnitOutcome[]; readonly send: readonly PlannedUnit[] }> {
  const outcomes: UnitOutcome[] = [];
  const send: PlannedUnit[] = [];
  for (const [at, planned] of doubtful.entries()) {
    if (!(await hasChanged(api, planned))) outcomes.push(plannedOutcome(planned, 'untouched'));
    else if (isRepetition(planned.unit)) send.push(planned);
    else outcomes.push(plannedOutcome(planned, 'conflict', conflictDetail(planned)));
    progress(`comparing: ${at + 1} of ${doubtful.length} histories read`);
  }
  return { outcomes, send };
}

function conflictDetail({ exportedRevision, unit }: DoubtfulUnit): string {
  return `revision ${exportedRevision} in the file, ${unit.revision} now; export it again`;
}

async function hasChanged(
  api: Pick<AdminApi, 'get'>,
  { unit, text, exportedRevision }: DoubtfulUnit,
): Promise<boolean> {
  if (exportedRevision === 0) return true;
  const history = await readHistory(api, unit.place);
  const exported = history?.items.findLast(({ revision }) => revision <= exportedRevision);
  return exported?.target_text !== text || exported.source_text !== unit.sourceText;
}
