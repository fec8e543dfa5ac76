import { repeatedState } from '../../../../domain/translation/repetition.ts';
import { isOpen, type UnitState, type UsableState } from '../../../../domain/translation/unit-state.ts';
import type { TargetsChanged } from '../../../text-events.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { blockingFindings } from '../store/accepted-findings.ts';
import { areCurrent, currentTasks, type BuiltFor } from '../store/builds.ts';
import { wasProofread } from '../store/proofread-containers.ts';
import {
  countRepetitions,
  queuedRepetitions,
  removeRepetition,
  targetsChanged,
} from '../store/repetition-queue.ts';
import {
  NO_PROVENANCE,
  sameBytes,
  targetOf,
  type Finding,
  type JudgedBy,
  type Row,
  type StoredTarget,
} from '../store/target-rows.ts';
import { getTarget, putTarget } from '../store/target-store.ts';
import { CHUNK_UNITS, TASK_TAKES_TARGETS, refreshTasks } from '../store/task-counts.ts';
import { isWithheld } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';
import { COPIED_TARGETS, noteCopied } from './repeated-units.ts';

interface RepetitionPlace {
  readonly entry: number;
  readonly taskSeq: number;
  readonly number: number;
}

/** A unit that gets the target of another one. */
export interface Repetition {
  readonly unitId: Uint8Array;
  /** Of its target; 0 without one. */
  readonly revision: number;
  readonly sourceDigest: Uint8Array;
  readonly taskId: string;
  /** Its file, and its ordinal there. */
  readonly destination: string;
  readonly ordinal: number;
  readonly wasProofread: boolean;
  /** The unit that has the target. */
  readonly originId: Uint8Array;
  readonly originRevision: number;
  /** The unit that it follows from now on: the one where the target was made. */
  readonly followsId: Uint8Array;
  readonly text: string;
  /** Its state when nothing blocks it. */
  readonly state: UsableState;
}

/** Repetitions to judge in their places. */
export interface RepetitionPage {
  readonly builtFor: BuiltFor;
  readonly items: readonly Repetition[];
  /** Groups that need nothing more once these units are stored. */
  readonly done: readonly number[];
  /** Where the next page begins; `null` at the end. */
  readonly next: RepetitionPlace | null;
  /** Groups that wait, those of this page included. */
  readonly waiting: number;
}

/** A judged repetition. */
export interface JudgedRepetition extends Repetition {
  readonly sourceText: string;
  readonly findings: readonly Finding[];
  readonly qaIdentity: string;
  readonly judgedBy: JudgedBy;
}

/** Most units of a page, and groups that it reads. */
const PAGE = { units: 200, groups: 200 };
/** UTF-16 code units of targets after which a page ends. */
const PAGE_CHARACTERS = 256 * 1024;

/** Reads units that need a target of their group of repetitions, and changes nothing. */
export function repetitionPage(work: Work, after: RepetitionPlace | null): RepetitionPage {
  const items: Repetition[] = [];
  const done: number[] = [];
  const first = after === null ? 0 : after.entry - 1;
  let characters = 0;
  let next: RepetitionPlace | null = null;
  for (const { entry, repetition } of queuedRepetitions(work, first, PAGE.groups)) {
    const from = after?.entry === entry ? after : { entry, taskSeq: -1, number: -1 };
    const found = membersOf(work, repetition, from);
    items.push(...found.items);
    characters += found.items.reduce((sum, { text }) => sum + text.length, 0);
    next = found.next ?? { entry: entry + 1, taskSeq: -1, number: -1 };
    if (found.next !== null) break;
    done.push(entry);
    if (items.length >= PAGE.units || characters >= PAGE_CHARACTERS) break;
  }
  return { builtFor: currentTasks(work), items, done, next, waiting: countRepetitions(work) };
}

const BEST_TARGET = `SELECT target.* ${COPIED_TARGETS} AND repetition = :repetition
  ORDER BY propagated_from IS NOT NULL, CASE target.state WHEN 'proofread' THEN 0 WHEN 'translated' THEN 1 ELSE 2 END, task_seq, number LIMIT 1`;
const MEMBERS = `SELECT task_unit.*, task_id, destination, archive_entry,
  target.state, target.revision, target.propagated_from, target.target_text, target.source_digest AS target_source
  FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
  LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target.target_language = build.target_language
  WHERE repetition = :repetition AND build.target_language = :language AND build.state = 'current' AND repeats = 1
  AND (task_seq, number) > (:task_seq, :number)
  AND ${TASK_TAKES_TARGETS}
  AND (target.unit_id IS NULL OR target.state = 'stale' OR target.propagated_from IS NOT NULL)
  AND NOT ${isWithheld('task_unit.unit_id')}
  ORDER BY task_seq, number LIMIT ${PAGE.units}`;

/** Reads the units of a group that need a target, without those that a person holds or works on. */
function membersOf(
  work: Work,
  repetition: Uint8Array,
  from: RepetitionPlace,
): { readonly items: readonly Repetition[]; readonly next: RepetitionPlace | null } {
  const language = work.targetLanguage;
  // That units without one get: one that nothing blocks, of those that were made for their unit the most reviewed and then the first.
  const bestRow = work.sql(BEST_TARGET).get({ repetition, language });
  const best = bestRow === undefined ? null : targetOf(bestRow);
  const place = { task_seq: from.taskSeq, number: from.number };
  const rows = work.sql(MEMBERS).all({ repetition, language, now: work.now(), ...place });
  const items = rows.flatMap((row) => {
    const follows = row['propagated_from'] as Uint8Array | null;
    const isOpen = row['state'] === null || row['state'] === 'stale';
    const origin = isOpen || follows === null ? best : followedTarget(work, follows, repetition);
    return origin === null ? [] : (repetitionOf(work, row, origin) ?? []);
  });
  const last = rows.at(-1);
  if (last === undefined || rows.length < PAGE.units) return { items, next: null };
  const [taskSeq, number] = [Number(last['task_seq']), Number(last['number'])];
  return { items, next: { entry: from.entry, taskSeq, number } };
}

const IN_GROUP = `SELECT 1 FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
  WHERE unit_id = ? AND repetition = ? AND build.state = 'current' AND repeats = 1`;

/** The target that a unit follows; `null` when its unit has gone or has another text now, and the target stays as it is. */
function followedTarget(work: Work, unitId: Uint8Array, repetition: Uint8Array): StoredTarget | null {
  if (work.sql(IN_GROUP).get(unitId, repetition) === undefined) return null;
  const target = getTarget(work, unitId);
  const isUsable = target !== null && target.state !== 'blocked' && target.state !== 'stale';
  return isUsable && target.propagatedFrom === null ? target : null;
}

function repetitionOf(work: Work, row: Row, origin: StoredTarget): Repetition | null {
  const unitId = row['unit_id'] as Uint8Array;
  const sourceDigest = row['source_digest'] as Uint8Array;
  const targetSource = row['target_source'] as Uint8Array | null;
  const state = repeatedState(origin.state as UsableState, {
    state: (row['state'] ?? 'untranslated') as UnitState,
    isPropagated: row['propagated_from'] !== null,
    hasText:
      row['target_text'] === origin.text && targetSource !== null && sameBytes(targetSource, sourceDigest),
  });
  if (state === null || sameBytes(unitId, origin.unitId)) return null;
  return {
    unitId,
    revision: Number(row['revision'] ?? 0),
    sourceDigest,
    taskId: String(row['task_id']),
    destination: String(row['destination']),
    ordinal: Number(row['ordinal']),
    wasProofread: wasProofread(work, String(row['destination']), row['archive_entry'] as string | null),
    originId: origin.unitId,
    originRevision: origin.revision,
    followsId: origin.propagatedFrom ?? origin.unitId,
    text: origin.text,
    state,
  };
}

/**
 * Stores repetitions. One whose unit or origin has another target since its page is left out: the change has queued its group again.
 * The next page would leave out a unit that a person has held, claimed or skipped since; so does this one.
 *
 * @returns how many were written; `null` when other tasks replaced those of the page, and nothing was written
 */
export function storeRepetitions(
  work: Work,
  {
    builtFor,
    items,
    done,
  }: {
    readonly builtFor: BuiltFor;
    readonly items: readonly JudgedRepetition[];
    readonly done: readonly number[];
  },
): { readonly written: number; readonly event: TargetsChanged } | null {
  return work.database.transaction(() => {
    if (!areCurrent(work, builtFor)) return null;
    const written = items.filter((item) => writeRepetition(work, item, builtFor.releaseId)).length;
    for (const entry of done) removeRepetition(work, entry);
    refreshTasks(work);
    const judgedBy = items.map((item) => item.judgedBy);
    return { written, event: targetsChanged(work, { judgedBy, neverRepeats: true }) };
  });
}

const OPEN_TASK = `SELECT task.task_seq, chunk.state FROM task JOIN task_unit USING (task_seq)
  JOIN chunk ON chunk.task_seq = task.task_seq AND chunk.number = task_unit.number / ${CHUNK_UNITS}
  WHERE task_id = :task_id AND unit_id = :unit_id AND repeats = 1 AND ${TASK_TAKES_TARGETS}
  AND NOT ${isWithheld(':unit_id')}`;

/** @returns whether it was written */
function writeRepetition(work: Work, item: JudgedRepetition, releaseId: string): boolean {
  const { unitId, text, sourceText, sourceDigest, findings, qaIdentity, judgedBy, taskId } = item;
  const origin = getTarget(work, item.originId);
  if (origin?.revision !== item.originRevision) return false;
  const before = getTarget(work, unitId);
  if ((before?.revision ?? 0) !== item.revision) return false;
  const place = { task_id: taskId, unit_id: unitId, language: work.targetLanguage, now: work.now() };
  const task = work.sql(OPEN_TASK).get(place);
  if (task === undefined) return false;
  const isBlocked = blockingFindings(work, item).length > 0;
  const { authorKind, tokenId, provider, providerRunId } = origin;
  putTarget(
    work,
    {
      unitId,
      text,
      state: isBlocked ? 'blocked' : item.state,
      stateBefore: null,
      sourceText,
      sourceDigest,
      authorKind,
      tokenId,
      provider,
      providerRunId,
      findings,
      qaIdentity,
      propagatedFrom: item.followsId,
      updatedAt: work.now(),
    },
    { ...NO_PROVENANCE, reason: `repeats ${unitIdText(item.followsId)}`, judgedBy, taskId, releaseId },
  );
  if (isOpen(before?.state ?? 'untranslated') && task['state'] !== 'failed')
    noteCopied(work, Number(task['task_seq']));
  return true;
}
