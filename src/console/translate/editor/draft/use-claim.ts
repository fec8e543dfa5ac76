import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { failureOf } from '../../../api/api-client.ts';
import { useApp } from '../../../state/app.ts';
import type { UnitName } from './draft-desk.ts';
import { personOf, sessionOf } from './editor-session.ts';
import { outcomeOfFailure, isUnsaved, type UnitDraft } from './unit-draft.ts';
import { claimBody, CLAIM_SECONDS } from './update-bodies.ts';

/** How often to check whether the claim must be renewed, and how long before its end it is renewed, milliseconds. */
const CHECK_MS = 15_000;
const RENEW_BEFORE_MS = 45_000;
/** A person who has not touched the unit for this long does not work on it, milliseconds. */
const IDLE_MS = 240_000;

/**
 * Keeps the claim of a unit while a person works on it. A stored text claims its unit; this renews the claim while the
 * person reads and thinks, from the first stored text on.
 */
export function useClaim({
  name,
  draft,
  field,
}: {
  readonly name: UnitName;
  readonly draft: UnitDraft | undefined;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}): void {
  const app = useApp();
  const touchedAt = useRef(0);
  const claimedAt = useRef<number | null>(null);
  const latest = useRef(draft);
  latest.current = draft;
  const isSaved = draft?.phase.kind === 'saved';
  useEffect(() => {
    if (isSaved) claimedAt.current = Date.now();
  }, [isSaved, draft?.base.revision]);
  useEffect(() => {
    const touch = (): void => {
      touchedAt.current = Date.now();
    };
    const input = field.current;
    for (const event of ['keydown', 'pointerdown', 'input']) input?.addEventListener(event, touch);
    const timer = setInterval(() => void renew(), CHECK_MS);
    return () => {
      clearInterval(timer);
      for (const event of ['keydown', 'pointerdown', 'input']) input?.removeEventListener(event, touch);
    };
  }, [name.unitId, name.taskId]);

  async function renew(): Promise<void> {
    const { current } = latest;
    const now = Date.now();
    const since = claimedAt.current;
    const person = personOf(app);
    if (since === null || current === undefined || person === '' || isUnsaved(current)) return;
    if (document.hidden || now - touchedAt.current > IDLE_MS) return;
    if (now - since < CLAIM_SECONDS * 1000 - RENEW_BEFORE_MS) return;
    claimedAt.current = now;
    try {
      const body = claimBody(name, current.base.revision, person);
      await sessionOf(app).act('translation-task-update', body);
    } catch (error) {
      // After a refusal the next read of the unit shows who has it now. A claim that could not be renewed for now may still last,
      // so it is renewed at the next check.
      claimedAt.current = outcomeOfFailure(failureOf(error)).kind === 'delayed' ? since : null;
    }
  }
}
