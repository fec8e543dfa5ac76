/** The rules of the history of releases, which the console and `slipway ctl` share. */

/** A localized release that was published, as `translation.status` lists it. */
interface PublishedRow {
  readonly localized_release_id: string;
  readonly rolled_back: object | null;
}

/**
 * Whether a localized release was taken back and is not current again; its state alone does not tell it.
 *
 * @param published the localized releases that were published; `undefined` while they are not known
 */
export function isRolledBack(
  { release_id: id, state }: { release_id: string; state: string },
  published: readonly PublishedRow[] | undefined,
): boolean {
  if (state === 'rolled_back') return true;
  const row = published?.find((each) => each.localized_release_id === id);
  return state !== 'current' && row !== undefined && row.rolled_back !== null;
}

/** The instant by which the history is sorted, Unix seconds: a release that was never current stands where it was made. */
export function lastCurrentAt({
  published_at: at,
  created_at: made,
}: {
  readonly published_at: number | null;
  readonly created_at: number;
}): number {
  return at ?? made;
}
