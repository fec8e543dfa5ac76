import { FILE_PROVIDER } from '../../../contract/actions/provider-names.ts';
import type { AdminApi } from '../admin-api.ts';
import { readHistory } from './find-units.ts';
import { plannedOutcome, type DoubtfulUnit, type PlannedUnit } from './import-plan.ts';
import type { UnitOutcome } from './outcomes.ts';
import { isRefusal, isRepetition } from './send-while-free.ts';
import type { UnitHistory } from './service-pages.ts';
import { readOwnToken } from './task-updates.ts';

/**
 * Decides about units whose target is newer than the file. Their history says which target the file was written with: a file that
 * still has it did not change the unit. A target that is only a repetition of another unit is replaced by the one of the file, and so
 * does one that the same person has imported since.
 */
export async function settleDoubt(
  api: AdminApi,
  doubtful: readonly DoubtfulUnit[],
  progress: (text: string) => void,
): Promise<{ readonly outcomes: readonly UnitOutcome[]; readonly send: readonly PlannedUnit[] }> {
  const outcomes: UnitOutcome[] = [];
  const send: PlannedUnit[] = [];
  const ownToken = await ownTokenOf(api, doubtful);
  for (const [at, planned] of doubtful.entries()) {
    const { exportedRevision } = planned;
    const mayBeOwn = isFromFile(planned) && ownToken !== null && planned.unit.author?.token_id === ownToken;
    const history = exportedRevision > 0 || mayBeOwn ? await readHistory(api, planned.unit.place) : null;
    const newer =
      mayBeOwn && history !== null
        ? newerTarget(history, exportedRevision, ownToken, planned.text)
        : 'of others';
    if (!hasChanged(history, planned)) outcomes.push(plannedOutcome(planned, 'untouched'));
    else if (isRepetition(planned.unit) || newer === 'own') send.push(planned);
    else {
      const detail = newer === 'of others' ? conflictDetail(planned) : REPLACED;
      outcomes.push(plannedOutcome(planned, 'conflict', detail));
    }
    progress(`comparing: ${at + 1} of ${doubtful.length} units with a newer target`);
  }
  return { outcomes, send };
}

const REPLACED =
  'you have imported this target before, and another one since; export it again, and write the one that you want';

function conflictDetail({ exportedRevision, unit }: DoubtfulUnit): string {
  return `revision ${exportedRevision} in the file, ${unit.revision} now; export it again`;
}

/** The id of the caller's token, where targets came from files. Without an answer nothing counts as the caller's. */
async function ownTokenOf(api: AdminApi, doubtful: readonly DoubtfulUnit[]): Promise<string | null> {
  const first = doubtful.find(isFromFile);
  if (first === undefined) return null;
  try {
    return await readOwnToken(api, first.unit.taskId);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return null;
  }
}

function isFromFile({ unit }: DoubtfulUnit): boolean {
  return unit.author?.provider === FILE_PROVIDER && unit.state !== 'proofread';
}

function hasChanged(history: UnitHistory | null, { unit, text, exportedRevision }: DoubtfulUnit): boolean {
  if (exportedRevision === 0) return true;
  const exported = history?.items.findLast(({ revision }) => revision <= exportedRevision);
  return exported?.target_text !== text || exported.source_text !== unit.sourceText;
}

type HistoryEntry = UnitHistory['items'][number];

type NewerTarget = 'own' | 'own, and replaced' | 'of others';

/**
 * Says who made the targets of a unit since a file was written. They are own ones when all of them came from files, by the token
 * of this command: the same person corrects the earlier work. A return by a reviewer and a repetition of another unit change no
 * text of a person.
 *
 * @param exportedRevision that of the target when the file was written
 * @param token the id of the token of this command
 * @param text the target in the file: one that was imported before, and that another import has replaced, is an older file
 */
function newerTarget(
  { items, is_cut: isCut }: UnitHistory,
  exportedRevision: number,
  token: string,
  text: string,
): NewerTarget {
  // A unit whose target was taken back has revision 0 again.
  const last = items.findLastIndex(
    ({ revision, target_text: target }) => revision <= exportedRevision || target === '',
  );
  if (last === -1 && isCut) return 'of others';
  const newer = items.slice(last + 1);
  const isOwn = newer.length > 0 && newer.every((entry) => isHarmless(entry, token));
  if (!isOwn) return 'of others';
  return newer.some(({ target_text: target }) => target === text) ? 'own, and replaced' : 'own';
}

/** A changed text of a reviewer has the reviewer's token and no provider. */
function isHarmless({ author, propagated_from: origin }: HistoryEntry, token: string): boolean {
  return origin !== null || (author.provider === FILE_PROVIDER && author.token_id === token);
}
