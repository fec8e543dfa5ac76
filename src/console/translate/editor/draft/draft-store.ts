/** Keeps unsent drafts in the browser, so that they outlive a reload, a lost connection and the end of the browser. */

import { DRAFT_PREFIX } from './draft-prefix.ts';
import type { DraftConflict, SaveAttempt, UnitBase, UnitDraft } from './unit-draft.ts';

interface KeptDraft {
  readonly taskId: string;
  readonly unitId: string;
  readonly base: UnitBase;
  readonly text: string;
  readonly attempt: SaveAttempt | null;
  /** The id of the token with which it was typed; empty when nobody knows. */
  readonly author: string;
  /** The refusal that a person must settle. */
  readonly conflict: DraftConflict | null;
  readonly tab: string;
}

export interface LeftDraft extends KeptDraft {
  /** Names it in the store. */
  readonly key: string;
}

/** The kept drafts of this browser. Each tab has its own, so that no tab replaces the text of another one. */
export interface DraftStore {
  others(): readonly LeftDraft[];
  /** @returns whether it is kept; not without storage, beyond the bounds, or when the storage is full */
  put(draft: UnitDraft): boolean;
  remove(unitId: string): void;
  drop(left: LeftDraft): void;
}

/** Most drafts that are kept, and the longest text of one, UTF-16 code units. */
const MAX_DRAFTS = 500;
const MAX_TEXT = 262_144;

/** Opens the store of this tab. */
export function createDraftStore({
  storage,
  tab,
}: {
  /** Throws when storage is switched off. */
  readonly storage: () => Storage;
  readonly tab: string;
}): DraftStore {
  const attempt = <T>(use: (storage: Storage) => T, otherwise: T): T => {
    try {
      return use(storage());
    } catch {
      return otherwise;
    }
  };
  const keys = (all: Storage): string[] =>
    Array.from({ length: all.length }, (_, at) => all.key(at) ?? '').filter((key) =>
      key.startsWith(DRAFT_PREFIX),
    );
  const keyOf = (unitId: string): string => `${DRAFT_PREFIX}${tab}.${unitId}`;
  return {
    others: () =>
      attempt(
        (all) =>
          keys(all).flatMap((key) => {
            const kept = parseKept(all.getItem(key));
            return kept === null || kept.tab === tab ? [] : { ...kept, key };
          }),
        [],
      ),
    put: ({ taskId, unitId, base, text, attempt: sent, author, phase }) =>
      attempt((all) => {
        const key = keyOf(unitId);
        const conflict = phase.kind === 'conflict' ? phase.conflict : null;
        const kept: KeptDraft = { taskId, unitId, base, text, attempt: sent, author, conflict, tab };
        const isNew = all.getItem(key) === null;
        if (text.length > MAX_TEXT || (isNew && keys(all).length >= MAX_DRAFTS)) return false;
        all.setItem(key, JSON.stringify(kept));
        return true;
      }, false),
    remove: (unitId) => {
      attempt((all) => all.removeItem(keyOf(unitId)), undefined);
    },
    drop: ({ key }) => {
      attempt((all) => all.removeItem(key), undefined);
    },
  };
}

/** Other programs, other versions of this page and extensions can write here, so nothing is taken on trust. */
function parseKept(text: string | null): KeptDraft | null {
  let value: Partial<Record<keyof KeptDraft, unknown>>;
  try {
    value = (JSON.parse(text ?? 'null') ?? {}) as typeof value;
  } catch {
    return null;
  }
  const { taskId, unitId, base, text: typed, tab, attempt = null, author = '', conflict = null } = value;
  const areTexts = [taskId, unitId, typed, tab, author].every((each) => typeof each === 'string');
  if (!areTexts || !isBase(base)) return null;
  if (attempt !== null && !isAttempt(attempt)) return null;
  if (conflict !== null && !isConflict(conflict)) return null;
  return { ...value, attempt, author, conflict } as KeptDraft;
}

function isBase(value: unknown): value is UnitBase {
  const { revision, source, target } = (value ?? {}) as Partial<UnitBase>;
  return Number.isSafeInteger(revision) && typeof source === 'string' && typeof target === 'string';
}

function isAttempt(value: unknown): value is SaveAttempt {
  const { key, text, source, revision } = (value ?? {}) as Partial<SaveAttempt>;
  return [key, text, source].every((each) => typeof each === 'string') && Number.isSafeInteger(revision);
}

function isConflict(value: unknown): value is DraftConflict {
  const { code, detail, theirs } = (value ?? {}) as Partial<DraftConflict>;
  return [code, detail].every((each) => typeof each === 'string') && (theirs === null || isBase(theirs));
}
