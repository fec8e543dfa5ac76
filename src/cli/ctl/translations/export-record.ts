import { cutText } from '../../../domain/text/cut-text.ts';
import type { UnitRecord } from '../../../exchange/units/unit-record.ts';
import { countText } from '../../../domain/count-text.ts';
import { placeOf, type ServiceUnit } from './service-pages.ts';

const MAX_NOTE = 8000;
const MAX_NOTE_LINE = 2000;

type ExportSkip = 'not translatable' | 'no task' | 'text too long' | 'other state or task';

/** The units that a file is for. */
export interface ExportChoice {
  /** `null` for all tasks. */
  readonly taskId: string | null;
  /** `null` for all states. */
  readonly states: ReadonlySet<string> | null;
}

/** Why a unit is left out of a file; `null` when it belongs to it. */
export function exportSkip(unit: ServiceUnit, { taskId, states }: ExportChoice): ExportSkip | null {
  const { translation } = unit;
  if (!unit.translatable) return 'not translatable';
  if (translation === null || translation.task_id === null) return 'no task';
  if (taskId !== null && translation.task_id !== taskId) return 'other state or task';
  if (states !== null && !states.has(translation.state)) return 'other state or task';
  // A file with the beginning of a text could not be brought back.
  return unit.is_cut || translation.is_cut ? 'text too long' : null;
}

/**
 * The record of a unit for a file.
 *
 * @param hints what the Glossary says about its source, one a line
 * @param taskReason why its task has its status, such as the reason of a reviewer who has returned it
 */
export function exportRecord(
  unit: ServiceUnit,
  hints: readonly string[],
  taskReason: string | null,
): UnitRecord {
  const { translation } = unit;
  const notes = [...(taskReason === null ? [] : [`Task: ${taskReason}`]), ...findingNotes(unit), ...hints];
  return {
    unit_id: unit.unit_id,
    locator: placeOf(unit),
    source_text: unit.source_text,
    target_text: translation?.target_text ?? null,
    state: translation?.state ?? 'untranslated',
    note: notes.length === 0 ? null : boundedNote(notes),
    context: contextOf(unit),
    previous_source: translation?.previous_source ?? null,
    previous_target: translation?.previous_target ?? null,
    revision: translation?.revision ?? 0,
  };
}

/**
 * A note of complete lines. Spreadsheets cut cells at 32,767 characters, and the reason of a task or the terms of a long text can have
 * more.
 */
function boundedNote(lines: readonly string[]): string {
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    const { text, isCut } = cutText(line, MAX_NOTE_LINE);
    if (length + text.length > MAX_NOTE) break;
    kept.push(isCut ? `${text}…` : text);
    length += text.length + 1;
  }
  if (kept.length < lines.length)
    kept.push(`(${countText(lines.length - kept.length, 'more line')}; see the unit itself)`);
  return kept.join('\n');
}

function findingNotes({ translation }: ServiceUnit): string[] {
  return (translation?.findings ?? []).map(
    ({ check, severity, message }) => `${severity === 'error' ? 'Blocked' : 'Note'}: ${check}: ${message}`,
  );
}

function contextOf({ speaker, scene }: ServiceUnit): Record<string, string> {
  return { ...(speaker === null ? {} : { speaker }), ...(scene === null ? {} : { scene }) };
}
