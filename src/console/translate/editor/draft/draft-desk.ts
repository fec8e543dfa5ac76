/** The drafts of one person: typed, kept in the browser, and sent to the server one after another. */

import type { Timers } from '../../../api/live-feed.ts';
import { signal } from '@preact/signals';
import type { DraftStore, LeftDraft } from './draft-store.ts';
import {
  cleanDraft,
  isSendable,
  ofAuthor,
  sendablePhase,
  isUnsaved,
  nextDraft,
  type DraftChoice,
  type DraftEvent,
  type SaveAttempt,
  type UnitBase,
  type UnitDraft,
  type SaveOutcome,
} from './unit-draft.ts';

export interface UnitName {
  readonly taskId: string;
  readonly unitId: string;
}

interface DraftDeskParts {
  /** Sends a text. It never throws. */
  readonly send: (unit: UnitName, attempt: SaveAttempt) => Promise<SaveOutcome>;
  readonly store: DraftStore;
  readonly newKey: () => string;
  readonly timers?: Timers;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** How long nothing is typed before a text is sent, and how long typing without a pause can delay it, milliseconds. */
export const PAUSE_MS = 1200;
export const LONGEST_WAIT_MS = 10_000;
const MAX_DRAFTS = 300;
/** Bounds of the wait after a failure, milliseconds. */
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;
/** The longest that a server's `Retry-After` is followed, milliseconds. */
const LONGEST_RETRY_AFTER_MS = 600_000;

/** When the text of a unit was first typed since the last attempt, and last, milliseconds. */
interface Typing {
  readonly first: number;
  readonly last: number;
}

/** The drafts of one person: typed, kept in the browser, and sent one after another. */
export class DraftDesk {
  readonly drafts = signal<ReadonlyMap<string, UnitDraft>>(new Map());
  readonly isUnkept = signal(false);
  readonly #unkept = new Set<string>();
  readonly #parts: DraftDeskParts;
  readonly #timers;
  readonly #now: () => number;
  readonly #typing = new Map<string, Typing>();
  readonly #urgent = new Set<string>();
  readonly #kept = new Set<string>();
  #left: readonly LeftDraft[] = [];
  /** The id of the token; `null` while there is none, and nothing is sent. */
  #author: string | null = null;
  readonly #waiters = new Map<string, Array<(draft: UnitDraft | null) => void>>();
  readonly #busy = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Nothing is sent before this time, milliseconds. */
  #holdUntil = 0;
  #failures = 0;
  #isRefused = false;
  /** Counts the changes of the token. */
  #logins = 0;

  constructor(parts: DraftDeskParts) {
    this.#parts = parts;
    this.#timers = parts.timers ?? globalThis;
    this.#now = parts.now ?? Date.now;
  }

  /**
   * Sets whose token the page has, by its id; `null`: nobody's. Drafts of another token wait for a decision, and only the texts of
   * this one are sent.
   */
  identify = (author: string | null): void => {
    this.#author = author;
    this.#logins += 1;
    this.#isRefused = false;
    this.#holdUntil = 0;
    this.#failures = 0;
    if (author === null) {
      this.#giveUpWaiting();
    } else {
      for (const draft of this.drafts.peek().values()) if (isUnsaved(draft)) this.#set(draft);
    }
    this.#schedule();
  };

  adopt = (tab: string): void => {
    for (const left of this.#parts.store.others()) if (left.tab === tab) this.#take(left);
    this.#schedule();
  };

  see = ({ taskId, unitId }: UnitName, server: UnitBase): void => {
    if (!this.drafts.peek().has(unitId)) this.#set(cleanDraft(taskId, unitId, server));
    this.#apply(unitId, { kind: 'seen', server });
  };

  type = ({ unitId }: UnitName, text: string): void => {
    const now = this.#now();
    this.#typing.set(unitId, { first: this.#typing.get(unitId)?.first ?? now, last: now });
    this.#own(unitId);
    this.#apply(unitId, { kind: 'typed', text });
  };

  choose = (unitId: string, choice: DraftChoice): void => {
    this.#urgent.add(unitId);
    this.#holdUntil = 0;
    this.#own(unitId, true);
    this.#apply(unitId, { kind: 'chosen', choice });
  };

  saveNow = (unitId?: string): void => {
    for (const id of unitId === undefined ? this.drafts.peek().keys() : [unitId]) this.#urgent.add(id);
    this.#schedule();
  };

  /** Resolves when a unit is saved; with `null` when it cannot be now, and with its draft when it waits or is refused. */
  settled = async (unitId: string): Promise<UnitDraft | null> => {
    this.saveNow(unitId);
    const draft = this.drafts.peek().get(unitId);
    if (draft === undefined || !this.#isMoving(draft)) return draft ?? null;
    if (draft.phase.kind === 'edited' && this.#isHeld()) return null;
    return await new Promise((resolve) => {
      this.#waiters.set(unitId, [...(this.#waiters.get(unitId) ?? []), resolve]);
    });
  };

  #isHeld(): boolean {
    return this.#author === null || this.#isRefused || this.#holdUntil > this.#now();
  }

  #giveUpWaiting(): void {
    for (const [unitId, waiters] of this.#waiters) {
      if (this.drafts.peek().get(unitId)?.phase.kind !== 'edited') continue;
      this.#waiters.delete(unitId);
      for (const resolve of waiters) resolve(null);
    }
  }

  /** Makes a draft that of the token of the page: one that begins, or one that its person takes over. */
  #own(unitId: string, isTaken = false): void {
    const draft = this.drafts.peek().get(unitId);
    if (draft === undefined || (!isTaken && isUnsaved(draft))) return;
    this.drafts.value = withDraft(this.drafts.peek(), { ...draft, author: this.#author ?? '' });
  }

  #take(left: LeftDraft): void {
    const here = this.drafts.peek().get(left.unitId);
    if (here !== undefined && isUnsaved(here)) {
      this.#left = [...this.#left, left];
      return;
    }
    this.#set(fromKept(left));
    // A text that this tab may not keep stays where it is.
    if (!this.#unkept.has(left.unitId)) this.#parts.store.drop(left);
  }

  #takeNext(unitId: string): void {
    const next = this.#left.find((left) => left.unitId === unitId);
    if (next === undefined) return;
    this.#left = this.#left.filter((left) => left !== next);
    this.#take(next);
  }

  #isMoving({ phase }: UnitDraft): boolean {
    return phase.kind === 'edited' || phase.kind === 'saving';
  }

  #apply(unitId: string, event: DraftEvent): void {
    const before = this.drafts.peek().get(unitId);
    if (before === undefined) return;
    const after = nextDraft(before, event);
    if (after !== before) this.#set(after);
    this.#schedule();
  }

  #set(changed: UnitDraft): void {
    const draft = this.#author === null ? changed : ofAuthor(changed, this.#author);
    const { unitId } = draft;
    this.drafts.value = withDraft(this.drafts.peek(), draft);
    if (isUnsaved(draft)) {
      this.#kept.add(unitId);
      if (this.#parts.store.put(draft)) this.#unkept.delete(unitId);
      else this.#unkept.add(unitId);
    } else {
      this.#unkept.delete(unitId);
      if (this.#kept.delete(unitId)) this.#parts.store.remove(unitId);
      this.#typing.delete(unitId);
      this.#urgent.delete(unitId);
    }
    this.isUnkept.value = this.#unkept.size > 0;
    if (this.#isMoving(draft) && !(draft.phase.kind === 'edited' && this.#isHeld())) return;
    for (const resolve of this.#waiters.get(unitId) ?? []) resolve(draft);
    this.#waiters.delete(unitId);
    if (!isUnsaved(draft)) this.#takeNext(unitId);
  }

  /** When a draft is to be sent, milliseconds. */
  #dueAt(draft: UnitDraft): number {
    const { first, last } = this.#typing.get(draft.unitId) ?? { first: 0, last: 0 };
    const wished =
      this.#urgent.has(draft.unitId) || draft.phase.kind === 'waiting'
        ? 0
        : Math.min(last + PAUSE_MS, first + LONGEST_WAIT_MS);
    return Math.max(wished, this.#holdUntil);
  }

  #schedule(): void {
    this.#timers.clearTimeout(this.#timer);
    if (this.#author === null || this.#isRefused) return;
    const open = [...this.drafts.peek().values()].filter(
      (draft) => isSendable(draft) && !this.#busy.has(draft.taskId),
    );
    const [next] = open.toSorted((left, right) => this.#dueAt(left) - this.#dueAt(right));
    if (next === undefined) return;
    const wait = Math.max(0, this.#dueAt(next) - this.#now());
    this.#timer = this.#timers.setTimeout(() => void this.#send(next.unitId), wait);
  }

  async #send(unitId: string): Promise<void> {
    const { newKey, send } = this.#parts;
    const before = this.drafts.peek().get(unitId);
    if (before === undefined || !isSendable(before) || this.#busy.has(before.taskId)) {
      this.#schedule();
      return;
    }
    this.#busy.add(before.taskId);
    this.#urgent.delete(unitId);
    this.#typing.delete(unitId);
    const draft = nextDraft(before, { kind: 'sent', key: newKey() });
    this.#set(draft);
    this.#schedule();
    const login = this.#logins;
    const outcome =
      draft.attempt === null ? null : await send({ taskId: draft.taskId, unitId }, draft.attempt);
    this.#busy.delete(before.taskId);
    if (outcome !== null) this.#settle(unitId, outcome, login);
    this.#schedule();
  }

  #settle(unitId: string, outcome: SaveOutcome, login: number): void {
    if (outcome.kind === 'delayed') {
      this.#failures += 1;
      this.#holdUntil = this.#now() + retryWait(this.#failures, outcome.retryAfter);
      // A late refusal of the token before says nothing about the present one.
      if (outcome.reason === 'login') this.#isRefused = login === this.#logins;
      this.#giveUpWaiting();
    } else {
      this.#failures = 0;
      this.#holdUntil = 0;
    }
    this.#apply(unitId, outcome);
  }
}

/**
 * The wait before the next try, milliseconds: it doubles, and the server's own wish counts.
 *
 * @param failures in a row, at least 1
 * @param retryAfter seconds
 */
export function retryWait(failures: number, retryAfter: number | null): number {
  if (retryAfter !== null)
    return Math.min(Math.max(FIRST_RETRY_MS, retryAfter * 1000), LONGEST_RETRY_AFTER_MS);
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
}

/** Adds a draft as the newest one. The oldest ones without an unsaved text leave, so that a long day does not fill the memory. */
function withDraft(before: ReadonlyMap<string, UnitDraft>, draft: UnitDraft): ReadonlyMap<string, UnitDraft> {
  const drafts = new Map(before);
  drafts.delete(draft.unitId);
  drafts.set(draft.unitId, draft);
  for (const [unitId, each] of drafts) {
    if (drafts.size <= MAX_DRAFTS) break;
    if (!isUnsaved(each) && unitId !== draft.unitId) drafts.delete(unitId);
  }
  return drafts;
}

function fromKept({ taskId, unitId, base, text, attempt, author, conflict }: LeftDraft): UnitDraft {
  const phase = conflict === null ? sendablePhase(attempt) : ({ kind: 'conflict', conflict } as const);
  return { taskId, unitId, base, text, attempt, author, force: false, phase };
}
