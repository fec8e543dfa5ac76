import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiFailure, failureOf } from '../../../api/api-client.ts';
import { useApp, type App } from '../../../state/app.ts';
import { useAnswer, type Answer } from '../../../state/use-answer.ts';
import { insertMissing, missingMarks, type Mark } from '../../../text/text-marks.ts';
import type { DraftDesk, UnitName } from '../draft/draft-desk.ts';
import { sessionOf, writtenUnit } from '../draft/editor-session.ts';
import type { Suggestion } from '../draft/suggestions.ts';
import { isForeignText, type UnitDraft } from '../draft/unit-draft.ts';
import type { ReadTarget } from '../draft/update-bodies.ts';
import type { FoundUnit } from '../list/unit-scan.tsx';
import { useClaim } from '../draft/use-claim.ts';
import { baseOf, fitsAddress, memoryContext, obstacleTo, placeOf, taskFeedKey, type Unit } from '../unit.ts';
import type { GlossaryAnswer } from './glossary-hits.tsx';
import { MATCH_LIMIT, distinctMatches, type MemoryAnswer } from './memory-matches.tsx';
import { fromField, insertAtSelection, replaceText, toField } from './target-field.tsx';
import { useUnitDetail, type UnitDetail } from './use-unit-detail.ts';

/** How long a target must rest before the Glossary is asked about it, milliseconds. */
const GLOSSARY_REST_MS = 500;
/** How long a unit must be shown before the memory is asked, milliseconds: a person may only pass it. */
const MEMORY_REST_MS = 150;

const NOT_STORED = new ApiFailure(
  'Nothing was decided: the text of this unit is not on the server yet. See below the text, and try again.',
);
const TOO_LONG = new ApiFailure('This text is too long to be searched for.');

export interface PlacedUnit {
  readonly unit: Unit;
  readonly index: number;
  /** The lines around the unit, in their order. */
  readonly script: readonly FoundUnit[];
}

export interface UnitWork {
  readonly unit: Unit;
  readonly detail: UnitDetail | null;
  readonly draft: UnitDraft | undefined;
  readonly text: string;
  /** Why nobody can work on it here; `null` when people can. */
  readonly obstacle: string | null;
  readonly mayEdit: boolean;
  readonly mayReview: boolean;
  readonly memory: Answer<MemoryAnswer>;
  readonly glossary: Answer<GlossaryAnswer>;
  readonly missing: readonly Mark[];
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly refusal: ApiFailure | null;
  readonly type: (text: string) => void;
  readonly insert: (text: string) => void;
  readonly replace: (text: string) => void;
  readonly insertMatch: (at: number) => void;
  readonly insertMark: () => void;
  readonly copySource: () => void;
  readonly suggestion: Suggestion | undefined;
  readonly suggest: () => void;
  readonly insertSuggestion: () => void;
  readonly save: () => void;
  readonly refresh: () => void;
  /** Sends a decision about the stored target. @returns whether the server took it */
  readonly decide: (
    action: 'translation-task-update' | 'translation-proofread',
    bodyOf: (target: ReadTarget) => object,
  ) => Promise<boolean>;
}

/** The work on one unit. The component must have the unit as its key. */
export function useUnitWork({ unit: row, index, script }: PlacedUnit): UnitWork {
  const app = useApp();
  const { desk, act, suggestions } = sessionOf(app);
  const { state, refresh } = useUnitDetail(app, row, index);
  // The counts of the task, and the list that follows them, belong to the change that a person just made.
  const refreshAll = (): void => {
    refresh();
    app.pool.refresh(taskFeedKey(app));
  };
  const unit = newerOf(row, state.value?.unit);
  const name = { taskId: unit.translation?.task_id ?? '', unitId: unit.unit_id };
  const draft = desk.drafts.value.get(unit.unit_id);
  const text = draft?.text ?? unit.translation?.target_text ?? '';
  const obstacle = obstacleTo(unit);
  const isForeign = draft !== undefined && isForeignText(draft);
  const mayEdit = obstacle === null && app.mayRun('translation-task-update') && !isForeign;
  const field = useRef<HTMLTextAreaElement>(null);
  const [refusal, setRefusal] = useState<ApiFailure | null>(null);
  const base = baseOf(unit);
  const phase = draft?.phase.kind;
  useEffect(() => {
    // Also after a refusal: the newer version can be here already, and then no other answer brings it.
    if (obstacleTo(unit) === null) desk.see(name, base);
  }, [base.revision, base.source, base.target, name.taskId, phase]);
  // Findings of a text are known after the server has stored it; the text of someone else is wanted after a refusal.
  useEffect(() => {
    if (phase === 'saved' || phase === 'conflict') refreshAll();
  }, [phase, draft?.base.revision]);
  useClaim({ name, draft, field });
  const memory = useMemoryAnswer(app, unit, script);
  const glossary = useGlossaryAnswer(app, unit, text);
  const { source_text: source, placeholders } = unit;
  const missing = useMemo(
    () => missingMarks(source, text, placeholders),
    [source, text, placeholders.join('\n')],
  );
  const suggestion = suggestions.for(unit);
  return {
    unit,
    detail: state.value,
    draft,
    text,
    obstacle,
    mayEdit,
    mayReview: obstacle === null && app.mayRun('translation-proofread'),
    memory,
    glossary,
    missing,
    field,
    refusal,
    refresh,
    type: (typed) => {
      setRefusal(null);
      if (draft === undefined) desk.see(name, base);
      desk.type(name, fromField(typed, source));
    },
    ...fieldEdits({ unit, memory, suggestion, field: mayEdit ? field : null }),
    suggestion,
    suggest: () => void suggestions.ask(name.taskId, unit.unit_id),
    save: () => desk.saveNow(unit.unit_id),
    decide: async (action, bodyOf) => {
      setRefusal(null);
      const target = await storedTarget(desk, name);
      if (target === null) {
        setRefusal(NOT_STORED);
        return false;
      }
      try {
        const { result } = await act(action, bodyOf(target));
        // The next decision may come before the unit is read again.
        const revision = writtenUnit(result)?.revision ?? target.revision;
        desk.see(name, { source: target.source, target: target.text, revision });
        return true;
      } catch (error) {
        setRefusal(failureOf(error));
        return false;
      } finally {
        refreshAll();
      }
    },
  };
}

/** The stored target; `null` while the text is not stored. */
async function storedTarget(desk: DraftDesk, name: UnitName): Promise<ReadTarget | null> {
  const settled = await desk.settled(name.unitId);
  if (settled === null || (settled.phase.kind !== 'clean' && settled.phase.kind !== 'saved')) return null;
  const { source, target, revision } = settled.base;
  return { ...name, source, text: target, revision };
}

/** The changes of the field that buttons and keys make; none without a field that may be edited. */
function fieldEdits({
  unit: { source_text: source, placeholders },
  memory,
  suggestion,
  field,
}: {
  readonly unit: UnitWork['unit'];
  readonly memory: UnitWork['memory'];
  readonly suggestion: UnitWork['suggestion'];
  readonly field: UnitWork['field'] | null;
}) {
  const edit = (change: (input: HTMLTextAreaElement) => void): void => {
    const input = field?.current ?? null;
    if (input !== null) change(input);
  };
  const replace = (other: string): void => edit((input) => replaceText(input, toField(other)));
  return {
    replace,
    insert: (added: string) => edit((input) => insertAtSelection(input, toField(added))),
    insertMatch: (at: number) => {
      const match = memory.isOld ? undefined : memory.value?.matches[at];
      if (match !== undefined) replace(match.proposed_text);
    },
    insertMark: () =>
      edit((input) => {
        const selection = { start: input.selectionStart, end: input.selectionEnd };
        const next = insertMissing({ source: toField(source), target: input.value, placeholders }, selection);
        if (next !== null) replaceText(input, next.text, next.caret);
      }),
    copySource: () => replace(source),
    insertSuggestion: () => {
      if (suggestion !== undefined) replace(suggestion.target_text);
    },
  };
}

/** The list and the single unit arrive independently; the higher revision is newer. */
function newerOf(row: Unit, detail: Unit | undefined): Unit {
  if (detail === undefined || detail.unit_id !== row.unit_id) return row;
  const isOlder = (detail.translation?.revision ?? 0) < (row.translation?.revision ?? 0);
  return isOlder && detail.source_text === row.source_text ? row : detail;
}

function useMemoryAnswer(app: App, unit: Unit, script: readonly FoundUnit[]): Answer<MemoryAnswer> {
  const query = {
    source_text: unit.source_text,
    source_context: JSON.stringify(memoryContext(unit, script)),
    limit: String(MATCH_LIMIT),
  };
  return useAnswer(
    unit.source_text === '' ? null : JSON.stringify(query),
    async (signal) => {
      const plain = { source_text: query.source_text, limit: query.limit };
      const asked = fitsAddress(query) ? query : plain;
      if (!fitsAddress(asked)) throw TOO_LONG;
      const answer = (await app.api.read('/admin/translation/memory/query', {
        query: asked,
        signal,
      })) as MemoryAnswer;
      return { ...answer, matches: distinctMatches(answer.matches) };
    },
    MEMORY_REST_MS,
  );
}

function useGlossaryAnswer(app: App, unit: Unit, text: string): Answer<GlossaryAnswer> {
  const context = text === '' ? placeOf(unit) : { ...placeOf(unit), translated_text: text };
  const query = { source_text: unit.source_text, context: JSON.stringify(context) };
  return useAnswer(
    unit.source_text === '' ? null : JSON.stringify(query),
    async (signal) => {
      const plain = { ...query, context: JSON.stringify(placeOf(unit)) };
      const asked = fitsAddress(query) ? query : plain;
      if (!fitsAddress(asked)) throw TOO_LONG;
      return (await app.api.read('/admin/translation/glossary/diagnose', {
        query: asked,
        signal,
      })) as GlossaryAnswer;
    },
    GLOSSARY_REST_MS,
  );
}
