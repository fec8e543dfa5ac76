import { FILE_PROVIDER } from '../../../contract/actions/provider-names.ts';
import type { UnitHistory } from './service-pages.ts';

type HistoryEntry = UnitHistory['items'][number];

/** The origin of a target that is newer than the file, by its history. */
export type NewerTarget = 'own' | 'own, and replaced' | 'of others';

/**
 * Says who made the targets of a unit since a file was written. They are own ones when all of them came from files, by the token
 * of this command: the same person corrects the earlier work. A return by a reviewer and a repetition of another unit change no
 * text of a person.
 *
 * @param exportedRevision that of the target when the file was written
 * @param token the id of the token of this command
 * @param text the target in the file: one that was imported before, and that another import has replaced, is an older file
 */
export function newerTarget(
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
