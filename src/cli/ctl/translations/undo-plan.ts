import { UNDO_PROVIDER } from '../../../contract/actions/provider-names.ts';
import type { ServiceUnit, UnitHistory } from './service-pages.ts';

/** The stored targets to take back: those that fit everything that is given. */
export interface UndoChoice {
  /** Of a provider or of an import; `null` for any. */
  readonly run: string | null;
  /** The id of a token; `null` for any. */
  readonly author: string | null;
  /** Unix seconds; `null` for any time. */
  readonly since: number | null;
}

type HistoryEntry = UnitHistory['items'][number];

/** The decision about a unit. `text` is empty for a unit that had no target before. */
export type UndoDecision =
  | { readonly kind: 'restore'; readonly text: string }
  | {
      readonly kind: 'none';
      readonly why: 'not chosen' | 'same text' | 'history too long' | 'history not readable';
    };

/** Whether the newest target of a unit may be one to take back. Its history decides. */
export function mayUndo({ translation }: ServiceUnit, { run, author, since }: UndoChoice): boolean {
  if (translation === null || translation.author === null) return false;
  if (since !== null && (translation.updated_at ?? 0) < since) return false;
  // Someone else has put the target back.
  if (translation.author.provider === UNDO_PROVIDER) return true;
  const isRun = run === null || translation.author.provider_run_id === run;
  return isRun && (author === null || isAuthor(translation.author, author));
}

/**
 * Decides about a unit: the newest target that was not chosen comes back. A target for another source is none.
 *
 * @param source the current source of the unit
 */
export function decideUndo(
  { items, is_cut: isCut }: UnitHistory,
  source: string,
  choice: UndoChoice,
): UndoDecision {
  const standing = standingEntries(items);
  const last = standing.findLastIndex((entry) => !isChosen(entry, choice));
  if (last === standing.length - 1) return { kind: 'none', why: 'not chosen' };
  if (last === -1 && isCut) return { kind: 'none', why: 'history too long' };
  const before = last === -1 ? undefined : standing[last];
  if (before?.is_cut === true) return { kind: 'none', why: 'history too long' };
  const text = before === undefined || before.source_text !== source ? '' : before.target_text;
  return items.at(-1)?.target_text === text ? { kind: 'none', why: 'same text' } : { kind: 'restore', text };
}

/** A target of the Translation Memory has the token of its record, which did not send the target. */
function isAuthor({ kind, token_id: tokenId }: HistoryEntry['author'], token: string): boolean {
  return kind !== 'memory' && tokenId === token;
}

function standingEntries(items: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const standing: HistoryEntry[] = [];
  for (const entry of items) {
    const { target_text: text, author } = entry;
    const before = text === '' ? -1 : standing.findLastIndex((each) => each.target_text === text);
    const isUndo = author.provider === UNDO_PROVIDER && (text === '' || before !== -1);
    if (isUndo) standing.length = before + 1;
    else standing.push(entry);
  }
  return standing;
}

function isChosen({ author, at }: HistoryEntry, { run, author: token, since }: UndoChoice): boolean {
  const isRun = run === null || author.provider_run_id === run;
  return isRun && (token === null || isAuthor(author, token)) && (since === null || at >= since);
}
