import { normalText } from '../text/normal-text.ts';
import { lowerState, type UnitState, type UsableState } from './unit-state.ts';

/** The parts of a unit that decide which others have the same translation. */
export interface RepeatableUnit {
  readonly sourceText: string;
  readonly speaker: string | null;
  readonly fieldPath: string;
}

/**
 * The class of a field: its path with every position in a list, a table or a text replaced by `*`, so that the same column of
 * two rows is one class.
 */
export function fieldClass(fieldPath: string): string {
  return fieldPath.replaceAll(/\[[^\]]*\]/g, '[*]').replaceAll(/(?<=\/)\d+(?=\/|#|$)/g, '*');
}

/**
 * The key of a group of repetitions: units with an equal key have the same text, speaker and class of field, and are translated
 * once.
 */
export function repetitionKey({ sourceText, speaker, fieldPath }: RepeatableUnit): string {
  return JSON.stringify([normalText(sourceText), speaker, fieldClass(fieldPath)]);
}

/**
 * Decides whether a unit gets the target of another one with the same text. A target of its own stays. A reviewed repetition
 * changes only when the new text is also reviewed. Every other one is at most `translated`, and a draft again when a reviewer
 * returns the target that it repeats.
 *
 * @returns the state of the unit with that target, findings aside; `null`: the unit stays as it is
 */
export function repeatedState(
  origin: UsableState,
  {
    state,
    isPropagated,
    hasText,
  }: {
    readonly state: UnitState;
    readonly isPropagated: boolean;
    /** Whether it has exactly the target that is repeated, made for its own text. */
    readonly hasText: boolean;
  },
): UsableState | null {
  const wanted = lowerState(origin, 'translated');
  if (state === 'untranslated' || state === 'stale') return wanted;
  if (!isPropagated) return null;
  if (!hasText) return state === 'proofread' ? (origin === 'proofread' ? 'proofread' : null) : wanted;
  if (state === 'blocked' || state === 'proofread' || state === wanted) return null;
  return wanted;
}
