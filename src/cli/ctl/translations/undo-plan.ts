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

/** What is to be done with a unit. `text` is empty for a unit that had no target before. */
export type UndoDecision =
  | { readonly kind: 'restore'; readonly text: string }
  | { readonly kind: 'none'; readonly why: 'changed later' | 'same text' | 'history too long' };

/** Whether the newest target of a unit may be one to take back. Its history decides. */
export function mayUndo({ translation }: ServiceUnit, { run, author, since }: UndoChoice): boolean {
  if (translation === null || translation.author === null) return false;
  const isRun = run === null || translation.author.provider_run_id === run;
  const isAuthor = author === null || translation.author.token_id === author;
  return isRun && isAuthor && (since === null || (translation.updated_at ?? 0) >= since);
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
  const last = items.findLastIndex((entry) => !isChosen(entry, choice));
  if (last === items.length - 1) return { kind: 'none', why: 'changed later' };
  if (last === -1 && isCut) return { kind: 'none', why: 'history too long' };
  const before = last === -1 ? undefined : items[last];
  if (before?.is_cut === true) return { kind: 'none', why: 'history too long' };
  const text = before === undefined || before.source_text !== source ? '' : before.target_text;
  return items.at(-1)?.target_text === text ? { kind: 'none', why: 'same text' } : { kind: 'restore', text };
}

function isChosen({ author, at }: HistoryEntry, { run, author: token, since }: UndoChoice): boolean {
  const isRun = run === null || author.provider_run_id === run;
  return isRun && (token === null || author.token_id === token) && (since === null || at >= since);
}
