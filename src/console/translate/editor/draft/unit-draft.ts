import type { ApiFailure } from '../../../api/api-client.ts';
/**
 * The draft of one text unit, from the first typed character until the server has it; pure. A typed text is never
 * dropped automatically: the server's text takes its place only when the person chooses so.
 */

export interface UnitBase {
  readonly revision: number;
  readonly source: string;
  /** Empty without a target. */
  readonly target: string;
}

/** A text that is being sent. It is sent again unchanged, with its key, until there is an answer. */
export interface SaveAttempt {
  /** Idempotency key. */
  readonly key: string;
  readonly text: string;
  readonly source: string;
  readonly revision: number;
  readonly force: boolean;
}

/** A refusal that a person must settle. */
export interface DraftConflict {
  readonly code: string;
  readonly detail: string;
  /** The unit as the server has it now; `null` until it was read. */
  readonly theirs: UnitBase | null;
}

/** Why a text waits: the server does not answer or is busy, or wants another login. */
type WaitReason = 'offline' | 'busy' | 'login';

type DraftPhase =
  | { readonly kind: 'clean' }
  | { readonly kind: 'edited' }
  | { readonly kind: 'saving' }
  /** `at`: Unix seconds; `state`: of the unit with this text. */
  | { readonly kind: 'saved'; readonly at: number; readonly state: string }
  | { readonly kind: 'waiting'; readonly reason: WaitReason; readonly message: string }
  | { readonly kind: 'conflict'; readonly conflict: DraftConflict };

export interface UnitDraft {
  readonly taskId: string;
  readonly unitId: string;
  readonly base: UnitBase;
  readonly text: string;
  readonly attempt: SaveAttempt | null;
  /** The id of the token with which it was typed; empty when nobody knows. */
  readonly author: string;
  readonly force: boolean;
  readonly phase: DraftPhase;
}

export type DraftEvent =
  | { readonly kind: 'typed'; readonly text: string }
  | { readonly kind: 'sent'; readonly key: string }
  | { readonly kind: 'stored'; readonly revision: number; readonly at: number; readonly state: string }
  | { readonly kind: 'delayed'; readonly reason: WaitReason; readonly message: string }
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string }
  | { readonly kind: 'seen'; readonly server: UnitBase }
  | { readonly kind: 'chosen'; readonly choice: DraftChoice };

/** `mine` keeps the typed text over theirs, `theirs` takes the server's, `force` takes it from its holder, `retry` sends again. */
export type DraftChoice = 'mine' | 'theirs' | 'force' | 'retry';

/** The conflict of a text that was typed with another token than the one that the page has now. */
export const OTHER_AUTHOR = 'other_author';

const LASTING = new Set([
  'source_mismatch',
  'revision_changed',
  'lease_held',
  'unknown_translation_task',
  'invalid_transition',
]);

/** The draft of a unit that nobody has edited. */
export function cleanDraft(taskId: string, unitId: string, base: UnitBase): UnitDraft {
  return {
    taskId,
    unitId,
    base,
    text: base.target,
    attempt: null,
    author: '',
    force: false,
    phase: { kind: 'clean' },
  };
}

/** The phase of a text that is sent automatically; with an attempt nobody knows whether it has arrived. */
export function sendablePhase(attempt: SaveAttempt | null): DraftPhase {
  return attempt === null
    ? { kind: 'edited' }
    : { kind: 'waiting', reason: 'offline', message: 'It was not sent before the page was closed.' };
}

/**
 * The draft as the holder of a token has it. A text that was typed with another token is not sent under this one until the
 * person decides so; it is sent automatically when its own token is back.
 */
export function ofAuthor(draft: UnitDraft, author: string): UnitDraft {
  const { phase, attempt, base } = draft;
  const isForeign = draft.author !== author;
  if (isForeignText(draft)) return isForeign ? draft : { ...draft, phase: sendablePhase(attempt) };
  if (!isForeign || !isUnsaved(draft) || phase.kind === 'saving') return draft;
  const whose = draft.author === '' ? 'another token' : `the token ${draft.author}`;
  const conflict = { code: OTHER_AUTHOR, detail: `This text was typed with ${whose}.`, theirs: base };
  return { ...draft, phase: { kind: 'conflict', conflict } };
}

/** Whether the server may not have the text of a draft. */
export function isUnsaved({ phase }: UnitDraft): boolean {
  return phase.kind !== 'clean' && phase.kind !== 'saved';
}

/** Whether a draft is to be sent without a decision of a person. */
export function isSendable({ phase }: UnitDraft): boolean {
  return phase.kind === 'edited' || phase.kind === 'waiting';
}

/** The draft after an event. */
export function nextDraft(draft: UnitDraft, event: DraftEvent): UnitDraft {
  switch (event.kind) {
    case 'typed':
      return typed(draft, event.text);
    case 'sent':
      return sent(draft, event.key);
    case 'stored':
      return stored(draft, event);
    case 'delayed':
      return {
        ...draft,
        phase: { kind: 'waiting', reason: event.reason, message: event.message },
      };
    case 'refused': {
      const conflict = { code: event.code, detail: event.detail, theirs: null };
      return { ...draft, attempt: null, phase: { kind: 'conflict', conflict } };
    }
    case 'seen':
      return seen(draft, event.server);
    case 'chosen':
      return chosen(draft, event.choice);
    default:
      return draft;
  }
}

/** Whether the text of a draft belongs to another token, and waits for a decision. */
export function isForeignText({ phase }: UnitDraft): boolean {
  return phase.kind === 'conflict' && phase.conflict.code === OTHER_AUTHOR;
}

function typed(draft: UnitDraft, text: string): UnitDraft {
  const { phase, attempt, base } = draft;
  if (isForeignText(draft)) return draft;
  const next = { ...draft, text };
  // The text that is being sent decides first.
  if (phase.kind === 'saving' || (phase.kind === 'waiting' && attempt !== null)) return next;
  if (phase.kind === 'conflict' && LASTING.has(phase.conflict.code)) return next;
  return { ...next, phase: { kind: text === base.target ? 'clean' : 'edited' } };
}

function sent(draft: UnitDraft, key: string): UnitDraft {
  const { base, text, force } = draft;
  const attempt = draft.attempt ?? { key, text, source: base.source, revision: base.revision, force };
  return { ...draft, attempt, force: false, phase: { kind: 'saving' } };
}

function stored(
  draft: UnitDraft,
  { revision, at, state }: Extract<DraftEvent, { readonly kind: 'stored' }>,
): UnitDraft {
  const { attempt, text } = draft;
  if (attempt === null) return draft;
  const base = { revision, source: attempt.source, target: attempt.text };
  const phase: DraftPhase = text === attempt.text ? { kind: 'saved', at, state } : { kind: 'edited' };
  return { ...draft, base, attempt: null, phase };
}

function seen(draft: UnitDraft, server: UnitBase): UnitDraft {
  const { phase, base, text } = draft;
  // An answer that was requested before newer text was stored says nothing new.
  if (server.revision < base.revision && server.source === base.source) return draft;
  switch (phase.kind) {
    case 'clean':
    case 'saved': {
      const stays = phase.kind === 'saved' && server.target === text;
      return { ...draft, base: server, text: server.target, phase: stays ? phase : { kind: 'clean' } };
    }
    case 'saving':
      return draft;
    case 'waiting':
      return draft.attempt === null ? rebased(draft, server) : draft;
    default:
      return rebased(draft, server);
  }
}

function rebased(draft: UnitDraft, server: UnitBase): UnitDraft {
  const { base, text, phase } = draft;
  const isSame = server.revision === base.revision && server.source === base.source;
  // The text arrived before its token left.
  if (isForeignText(draft) && server.target === text && server.source === base.source)
    return cleanDraft(draft.taskId, draft.unitId, server);
  if (phase.kind === 'conflict' && !['source_mismatch', 'revision_changed'].includes(phase.conflict.code)) {
    return { ...draft, phase: { kind: 'conflict', conflict: { ...phase.conflict, theirs: server } } };
  }
  // The server refused the text for something newer than this.
  if (phase.kind === 'conflict' && isSame) return draft;
  if (server.source !== base.source) {
    const detail = 'The source text has changed since you began.';
    return conflicting(draft, { code: 'source_mismatch', detail, theirs: server });
  }
  if (server.target === text) return { ...draft, base: server, phase: { kind: 'clean' } };
  if (server.target === base.target) {
    // Only the state of the unit has changed, not its text.
    return { ...draft, base: server, phase: isSame && phase.kind === 'waiting' ? phase : { kind: 'edited' } };
  }
  const detail = 'Someone else has changed the target since you began.';
  return conflicting(draft, { code: 'revision_changed', detail, theirs: server });
}

function conflicting(draft: UnitDraft, conflict: DraftConflict): UnitDraft {
  return { ...draft, attempt: null, phase: { kind: 'conflict', conflict } };
}

function chosen(draft: UnitDraft, choice: DraftChoice): UnitDraft {
  const { phase, text, base } = draft;
  const theirs = (phase.kind === 'conflict' ? phase.conflict.theirs : null) ?? base;
  if (choice === 'theirs') return cleanDraft(draft.taskId, draft.unitId, theirs);
  if (phase.kind !== 'conflict') return draft;
  const isDone = theirs.target === text && choice !== 'force';
  return {
    ...draft,
    // A text that changes hands was written for its own version of the unit, and is compared with the present one.
    base: isForeignText(draft) ? base : theirs,
    attempt: null,
    force: choice === 'force',
    phase: { kind: isDone ? 'clean' : 'edited' },
  };
}

export type SaveOutcome =
  | Extract<DraftEvent, { kind: 'stored' | 'refused' }>
  | (Extract<DraftEvent, { kind: 'delayed' }> & {
      /** Seconds that the server asks to wait. */
      readonly retryAfter: number | null;
    });

/** Sorts a failure: whether the same text can be sent again later, or a person must decide. */
export function outcomeOfFailure(failure: ApiFailure): SaveOutcome {
  const { message, retryAfter, status, code } = failure;
  const delayed = (reason: WaitReason): SaveOutcome => ({ kind: 'delayed', reason, message, retryAfter });
  if (failure.isOffline) return delayed('offline');
  if (status === 401) return delayed('login');
  if (failure.isPassing) return delayed('busy');
  return { kind: 'refused', code: code === '' ? String(status) : code, detail: message };
}
