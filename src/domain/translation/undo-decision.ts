/** Which stored targets an undo takes back, and what comes back instead; pure. */

/** The stored targets to take back: those that fit everything that is given. */
export interface UndoChoice {
  /** Of a provider or of an import; `null` for any. */
  readonly run: string | null;
  /** The id of a token; `null` for any. */
  readonly author: string | null;
  /** Unix seconds; `null` for any time. */
  readonly since: number | null;
}

/** An entry of the history of a unit. */
export interface UndoEntry {
  readonly target_text: string;
  readonly source_text: string;
  /** Whether a text is only its beginning. */
  readonly is_cut: boolean;
  readonly author: {
    readonly kind: string;
    readonly token_id: string | null;
    readonly provider: string | null;
    readonly provider_run_id: string | null;
  };
  /** Unix seconds. */
  readonly at: number;
}

/** The decision about a unit. `text` is empty for a unit that had no target before. */
export type UndoDecision =
  | { readonly kind: 'restore'; readonly text: string }
  | {
      readonly kind: 'none';
      readonly why: 'not chosen' | 'same text' | 'history too long' | 'history not readable';
    };

/**
 * Decides about a unit: the newest target that was not chosen comes back. A target for another source is none.
 *
 * @param history newest last; `is_cut` when there are older entries
 * @param source the current source of the unit
 * @param undoProvider the provider of targets that an undo has stored
 */
export function decideUndo(
  { items, is_cut: isCut }: { readonly items: readonly UndoEntry[]; readonly is_cut: boolean },
  source: string,
  choice: UndoChoice,
  undoProvider: string,
): UndoDecision {
  const standing = standingEntries(items, undoProvider);
  const last = standing.findLastIndex((entry) => !isChosen(entry, choice));
  if (last === standing.length - 1) return { kind: 'none', why: 'not chosen' };
  if (last === -1 && isCut) return { kind: 'none', why: 'history too long' };
  const before = last === -1 ? undefined : standing[last];
  if (before?.is_cut === true) return { kind: 'none', why: 'history too long' };
  const text = before === undefined || before.source_text !== source ? '' : before.target_text;
  return items.at(-1)?.target_text === text ? { kind: 'none', why: 'same text' } : { kind: 'restore', text };
}

/** Whether a token has sent a target. One of the Translation Memory has the token of its record, which did not send the target. */
export function isAuthor({ kind, token_id: tokenId }: UndoEntry['author'], token: string): boolean {
  return kind !== 'memory' && tokenId === token;
}

function standingEntries(items: readonly UndoEntry[], undoProvider: string): readonly UndoEntry[] {
  const standing: UndoEntry[] = [];
  for (const entry of items) {
    const { target_text: text, author } = entry;
    const before = text === '' ? -1 : standing.findLastIndex((each) => each.target_text === text);
    const isUndo = author.provider === undoProvider && (text === '' || before !== -1);
    if (isUndo) standing.length = before + 1;
    else standing.push(entry);
  }
  return standing;
}

function isChosen({ author, at }: UndoEntry, { run, author: token, since }: UndoChoice): boolean {
  const isRun = run === null || author.provider_run_id === run;
  return isRun && (token === null || isAuthor(author, token)) && (since === null || at >= since);
}
