/** Begins the key of every draft that the browser keeps. */
export const DRAFT_PREFIX = 'slipway.draft.';

/** Whether the browser keeps a draft. @param storage throws when storage is switched off */
export function hasDrafts(storage: () => Storage): boolean {
  try {
    return Object.keys(storage()).some((key) => key.startsWith(DRAFT_PREFIX));
  } catch {
    return false;
  }
}
