import { UNDO_PROVIDER } from '../../../../contract/actions/provider-names.ts';
import { decideUndo, type UndoEntry } from '../../../../domain/translation/undo-decision.ts';
import { isChosenTarget } from '../store/chosen-targets.ts';
import { entriesOf } from '../store/target-history.ts';
import type { Row } from '../store/target-rows.ts';
import type { TaskUpdate, UndoRequest } from '../store/task-update.ts';
import { claimOn } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';

/** A target that an undo stores. */
export interface UndoTarget {
  readonly unitId: Uint8Array;
  readonly sourceText: string;
  readonly sourceDigest: Uint8Array;
  /** Empty: the unit had no target before. */
  readonly text: string;
  /** Of the target that is taken back. */
  readonly revision: number;
}

/** What an undo finds for one call. */
interface UndoStep {
  readonly targets: readonly UndoTarget[];
  /** Units that another person has claimed. They are left as they are. */
  readonly claimed: number;
  /** The unit of the task after which the next call begins; `null` at the end of the task. */
  readonly next: number | null;
}

/** Units that one call looks at and that it changes, and characters of their texts after which it ends. */
const MOST = { seen: 5000, units: 500, characters: 512 * 1024 };
/** Entries of a history that are read. */
const MOST_ENTRIES = 200;

const UNITS = `SELECT number, target.unit_id, target.source_text, target.source_digest, target.revision
  FROM task JOIN task_unit USING (task_seq) JOIN target ON target.unit_id = task_unit.unit_id
    AND target.target_language = ? AND target.source_digest = task_unit.source_digest
  WHERE task_id = ? AND number > ?`;

/** The targets that one call of an undo takes back, in the order of the task. */
export function undoTargets(
  work: Work,
  { taskId, undo, workerId, tokenId, force }: TaskUpdate & { readonly undo: UndoRequest },
): UndoStep {
  const targets: UndoTarget[] = [];
  let [characters, seen, claimed, last] = [0, 0, 0, undo.after];
  const chosen = isChosenTarget(undo);
  // The history decides about what an undo has stored.
  const rows = work
    .sql(`${UNITS} AND (target.provider = '${UNDO_PROVIDER}' OR (${chosen.sql})) ORDER BY number`)
    .iterate(work.targetLanguage, taskId, undo.after, ...chosen.values);
  for (const row of rows) {
    if (targets.length >= MOST.units || characters >= MOST.characters || seen >= MOST.seen) {
      return { targets, claimed, next: last };
    }
    seen += 1;
    last = Number(row['number']);
    const unitId = row['unit_id'] as Uint8Array;
    const sourceText = String(row['source_text']);
    const decision = decideUndo(historyOf(work, unitId), sourceText, undo, UNDO_PROVIDER);
    if (decision.kind !== 'restore') continue;
    const owner = claimOn(work, unitId)?.owner;
    if (owner !== undefined && !force && owner !== workerId && owner !== tokenId) {
      claimed += 1;
      continue;
    }
    characters += decision.text.length + sourceText.length;
    targets.push({
      unitId,
      sourceText,
      sourceDigest: row['source_digest'] as Uint8Array,
      text: decision.text,
      revision: Number(row['revision']),
    });
  }
  return { targets, claimed, next: null };
}

function historyOf(work: Work, unitId: Uint8Array): { items: UndoEntry[]; is_cut: boolean } {
  const items: UndoEntry[] = [];
  for (const row of entriesOf(work, unitId)) {
    if (items.length === MOST_ENTRIES) return { items: items.toReversed(), is_cut: true };
    items.push(entryOf(row));
  }
  return { items: items.toReversed(), is_cut: false };
}

function entryOf(row: Row): UndoEntry {
  const textOf = (name: string): string | null => row[name] as string | null;
  return {
    target_text: String(row['target_text']),
    source_text: String(row['source_text']),
    is_cut: false,
    author: {
      kind: String(row['author_kind']),
      token_id: textOf('token_id'),
      provider: textOf('provider'),
      provider_run_id: textOf('provider_run_id'),
    },
    at: Number(row['at']),
  };
}
