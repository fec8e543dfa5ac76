import type { AdminApi } from '../admin-api.ts';
import { readHistory } from './find-units.ts';
import { plannedOutcome, type DoubtfulUnit } from './import-plan.ts';
import type { UnitOutcome } from './outcomes.ts';

/**
 * Decides about units whose target is newer than the file. Their history says which target the file was written with: a file that
 * still has it did not change the unit.
 */
export async function settleDoubt(
  api: Pick<AdminApi, 'get'>,
  doubtful: readonly DoubtfulUnit[],
  progress: (text: string) => void,
): Promise<UnitOutcome[]> {
  const outcomes: UnitOutcome[] = [];
  for (const planned of doubtful) {
    const isChanged = await hasChanged(api, planned);
    const detail = `revision ${planned.exportedRevision} in the file, ${planned.unit.revision} now; export it again`;
    outcomes.push(
      isChanged ? plannedOutcome(planned, 'conflict', detail) : plannedOutcome(planned, 'untouched'),
    );
    progress(`comparing: ${outcomes.length} of ${doubtful.length} histories read`);
  }
  return outcomes;
}

async function hasChanged(
  api: Pick<AdminApi, 'get'>,
  { unit, text, exportedRevision }: DoubtfulUnit,
): Promise<boolean> {
  const history = await readHistory(api, unit.place);
  const exported = history?.items.findLast(({ revision }) => revision <= exportedRevision);
  return exported?.target_text !== text || exported.source_text !== unit.sourceText;
}
