import type { SQLInputValue } from 'node:sqlite';
import { UNDO_PROVIDER } from '../../../../contract/actions/provider-names.ts';
import { searchFor } from '../../../../domain/text/text-search.ts';
import type { UndoChoice } from '../../../../domain/translation/undo-decision.ts';

/** Targets of a term: its spellings in the source, and its translations that the target has, or has none of. */
interface TermChoice {
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  /** Whether the target has one of them. */
  readonly isKept: boolean;
}

interface ChosenTargets {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

interface TermTargets extends ChosenTargets {
  /** Decides about a row that the condition selects: SQL knows the case of ASCII letters alone. */
  readonly isChosen: (sourceText: string, targetText: string) => boolean;
}

/**
 * The SQL condition that the row `target` of the row `task_unit` is chosen by what is given of its author, its run and its time.
 * What an undo has stored is not, nor is a target of another source: it says nothing about the text that the unit has now.
 */
export function isChosenTarget({ run, author, since }: UndoChoice): ChosenTargets {
  const parts: (readonly [string, SQLInputValue])[] = [
    ...(run === null ? [] : [['target.provider_run_id = ?', run] as const]),
    // A target of the Translation Memory has the token of its record, which did not send the target.
    ...(author === null ? [] : [[`target.author_kind <> 'memory' AND target.token_id = ?`, author] as const]),
    ...(since === null ? [] : [['target.updated_at >= ?', since] as const]),
  ];
  const undoable = [
    `target.provider IS NOT '${UNDO_PROVIDER}'`,
    'target.source_digest = task_unit.source_digest',
  ];
  return {
    sql: [...parts.map(([sql]) => sql), ...undoable].join(' AND '),
    values: parts.map(([, value]) => value),
  };
}

/** Finds the rows `target` of a term. */
export function isTargetOfTerm({ sources, targets, isKept }: TermChoice): TermTargets {
  const [ofSources, ofTargets] = [sources.map(searchFor), targets.map(searchFor)];
  const patterns = ofSources.flatMap(({ likePattern }) => likePattern ?? []);
  const like = patterns.map(() => String.raw`target.source_text LIKE ? ESCAPE '\'`).join(' OR ');
  const isComplete = patterns.length === sources.length;
  return {
    sql: isComplete ? `(${like || '0'})` : '1',
    values: isComplete ? patterns : [],
    isChosen: (sourceText, targetText) =>
      ofSources.some(({ isIn }) => isIn(sourceText)) &&
      ofTargets.some(({ isIn }) => isIn(targetText)) === isKept,
  };
}
