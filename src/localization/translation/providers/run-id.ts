const MAX_CHARACTERS = 200;

/** The id of an answer as records keep it; `null` for one that is missing, too long or not printable. */
export function shownRunId(id: unknown): string | null {
  const isUsable = typeof id === 'string' && id.length <= MAX_CHARACTERS && /^[\x21-\x7e]+$/.test(id);
  return isUsable ? id : null;
}
