import {
  NO_PROVENANCE,
  sameBytes,
  targetOf,
  type Finding,
  type JudgedBy,
  type Row,
  type StoredTarget,
} from '../store/target-rows.ts';
import { repeatedState } from '../../../../domain/translation/repetition.ts';
import { isOpen, type UnitState, type UsableState } from '../../../../domain/translation/unit-state.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { createAcceptedFindings } from '../store/accepted-findings.ts';
import { createBuildMark, type BuildMark, type BuiltFor } from '../store/task-update.ts';
import { CHUNK_UNITS, TASK_TAKES_TARGETS } from '../store/task-counts.ts';
import { createProofreadContainers } from '../store/proofread-containers.ts';
import { COPIED_TARGETS } from './repeated-units.ts';
import { createRepetitionQueue, type RepetitionQueue } from '../store/repetition-queue.ts';
import { createWithheldQuery, isWithheld } from '../store/withheld-units.ts';
import type { TargetsChanged } from '../../../text-events.ts';
import type { WorkTools } from '../store/work-tools.ts';

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
  /** Position of its file in the parse index, and its ordinal there. */
  readonly indexPosition: number;
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
export interface JudgedRepetition extends Pick<
  Repetition,
  | 'unitId'
  | 'revision'
  | 'sourceDigest'
  | 'taskId'
  | 'originId'
  | 'originRevision'
  | 'followsId'
  | 'text'
  | 'state'
> {
  readonly sourceText: string;
  readonly findings: readonly Finding[];
  readonly qaIdentity: string;
  readonly judgedBy: JudgedBy;
}

interface RepetitionBatch extends Pick<RepetitionPage, 'builtFor' | 'done'> {
  readonly items: readonly JudgedRepetition[];
}

/** Gives the units of a group of repetitions the target of one of them. */
export interface RepeatedTargets {
  /** The tasks that the units are in now. */
  currentTasks(): BuiltFor;
  /** Whether units may wait for the target of another one. */
  wantsRepetitions(): boolean;
  /** Looks through a bounded part of new tasks for repetitions. @returns whether there may be more */
  sweepRepetitions(): boolean;
  /** Looks through the tasks again, because rules changed. */
  sweepRepetitionsAgain(): void;
  /** Reads units that need a target of their group, and changes nothing. */
  repetitionPage(after: RepetitionPlace | null): RepetitionPage;
  /**
   * Stores repetitions. One whose unit or origin has another target since its page is left out: the change has queued its group
   * again. One that a person holds, claimed or skipped since its page is left out, too, as the next page would leave it out.
   *
   * @returns how many were written; `null` when other tasks replaced those of the page, and nothing was written
   */
  storeRepetitions(
    batch: RepetitionBatch,
  ): { readonly written: number; readonly event: TargetsChanged } | null;
}

/** Most units of a page, and groups that it looks at. */
const PAGE = { units: 200, groups: 200 };
/** UTF-16 code units of targets after which a page ends. */
const PAGE_CHARACTERS = 256 * 1024;

/** Creates the repetitions of one target language. @param note hears of each open unit that got a target */
export function createRepeatedTargets(
  tools: WorkTools,
  note: (buildId: number, taskSeq: number) => void,
): RepeatedTargets {
  const { database, targetLanguage } = tools;
  const queue = createRepetitionQueue(database, targetLanguage);
  const mark = createBuildMark(database, targetLanguage);
  return {
    currentTasks: () => mark.current(),
    wantsRepetitions: () => queue.hasWork(),
    sweepRepetitions: () => database.transaction(() => queue.sweep()),
    sweepRepetitionsAgain: () => {
      database.transaction(() => {
        queue.sweepAgain();
      });
    },
    repetitionPage: createPageReader(tools, queue, mark),
    storeRepetitions: createBatchStore(tools, queue, mark, note),
  };
}

function createPageReader(
  tools: WorkTools,
  queue: RepetitionQueue,
  mark: BuildMark,
): RepeatedTargets['repetitionPage'] {
  const originOf = createOriginReader(tools);
  const members = createMemberReader(tools);
  return (after) => {
    const items: Repetition[] = [];
    const done: number[] = [];
    const first = after === null ? 0 : after.entry - 1;
    let characters = 0;
    let next: RepetitionPlace | null = null;
    const groups = queue.after(first, PAGE.groups);
    for (const { entry, repetition } of groups) {
      const from = after?.entry === entry ? after : { entry, taskSeq: -1, number: -1 };
      const found = members(repetition, originOf(repetition), from);
      items.push(...found.items);
      characters += found.items.reduce((sum, { text }) => sum + text.length, 0);
      next = found.next ?? { entry: entry + 1, taskSeq: -1, number: -1 };
      if (found.next !== null) break;
      done.push(entry);
      if (items.length >= PAGE.units || characters >= PAGE_CHARACTERS) break;
    }
    return { builtFor: mark.current(), items, done, next, waiting: queue.count() };
  };
}

/**
 * Reads the target that units without one get: one that nothing blocks, of those that were made for their unit the most reviewed
 * and then the first one.
 */
function createOriginReader({
  database,
  targetLanguage,
}: WorkTools): (repetition: Uint8Array) => StoredTarget | null {
  const find = database.prepare(`SELECT target.* ${COPIED_TARGETS} AND repetition = :repetition
    ORDER BY propagated_from IS NOT NULL, CASE target.state WHEN 'proofread' THEN 0 WHEN 'translated' THEN 1 ELSE 2 END, task_seq, number LIMIT 1`);
  return (repetition) => {
    const row = find.get({ repetition, language: targetLanguage });
    return row === undefined ? null : targetOf(row);
  };
}

/** Reads the units of a group that need a target, without those that a person holds or works on. */
function createMemberReader({
  database,
  targetLanguage,
  targets,
  now,
}: WorkTools): (
  repetition: Uint8Array,
  best: StoredTarget | null,
  from: RepetitionPlace,
) => { readonly items: readonly Repetition[]; readonly next: RepetitionPlace | null } {
  const find = database.prepare(`SELECT task_unit.*, task_id, index_position, destination, archive_entry,
    target.state, target.revision, target.propagated_from, target.target_text, target.source_digest AS target_source
    FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
    LEFT JOIN target ON target.unit_id = task_unit.unit_id AND target.target_language = build.target_language
    WHERE repetition = :repetition AND build.target_language = :language AND build.state = 'current' AND repeats = 1
    AND (task_seq, number) > (:task_seq, :number)
    AND ${TASK_TAKES_TARGETS}
    AND (target.unit_id IS NULL OR target.state = 'stale' OR target.propagated_from IS NOT NULL)
    AND NOT ${isWithheld('task_unit.unit_id')}
    ORDER BY task_seq, number LIMIT ${PAGE.units}`);
  const inGroup =
    database.prepare(`SELECT 1 FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id)
    WHERE unit_id = ? AND repetition = ? AND build.state = 'current' AND repeats = 1`);
  const proofread = createProofreadContainers(database, targetLanguage);
  /** The target that a unit follows; `null` when its unit has gone or has another text now, and the target stays as it is. */
  const followed = (unitId: Uint8Array, repetition: Uint8Array): StoredTarget | null => {
    if (inGroup.get(unitId, repetition) === undefined) return null;
    const target = targets.get(unitId);
    const isUsable = target !== null && target.state !== 'blocked' && target.state !== 'stale';
    return isUsable && target.propagatedFrom === null ? target : null;
  };
  return (repetition, best, from) => {
    const place = { task_seq: from.taskSeq, number: from.number };
    const rows = find.all({ repetition, language: targetLanguage, now: now(), ...place });
    const last = rows.at(-1);
    const items = rows.flatMap((row) => {
      const follows = row['propagated_from'] as Uint8Array | null;
      const isOpen = row['state'] === null || row['state'] === 'stale';
      const origin = isOpen || follows === null ? best : followed(follows, repetition);
      if (origin === null) return [];
      const wasProofread = proofread.has(String(row['destination']), row['archive_entry'] as string | null);
      return repetitionOf(row, origin, wasProofread) ?? [];
    });
    return {
      items,
      next:
        last === undefined || rows.length < PAGE.units
          ? null
          : { entry: from.entry, taskSeq: Number(last['task_seq']), number: Number(last['number']) },
    };
  };
}

function repetitionOf(row: Row, origin: StoredTarget, wasProofread: boolean): Repetition | null {
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
    indexPosition: Number(row['index_position']),
    ordinal: Number(row['ordinal']),
    wasProofread,
    originId: origin.unitId,
    originRevision: origin.revision,
    followsId: origin.propagatedFrom ?? origin.unitId,
    text: origin.text,
    state,
  };
}

function createBatchStore(
  { database, targetLanguage, targets, counts, now, eventOf }: WorkTools,
  queue: RepetitionQueue,
  mark: BuildMark,
  note: (buildId: number, taskSeq: number) => void,
): RepeatedTargets['storeRepetitions'] {
  const accepted = createAcceptedFindings(database, targetLanguage);
  const withheld = createWithheldQuery(database, targetLanguage);
  const openTask = database.prepare(
    `SELECT build_id, task.task_seq, chunk.state FROM task JOIN task_unit USING (task_seq)
     JOIN chunk ON chunk.task_seq = task.task_seq AND chunk.number = task_unit.number / ${CHUNK_UNITS}
     WHERE task_id = ? AND unit_id = ? AND repeats = 1 AND ${TASK_TAKES_TARGETS}`,
  );
  const write = (item: JudgedRepetition, releaseId: string): boolean => {
    const { unitId, text, sourceText, sourceDigest, findings, qaIdentity } = item;
    const origin = targets.get(item.originId);
    if (origin?.revision !== item.originRevision) return false;
    const before = targets.get(unitId);
    if ((before?.revision ?? 0) !== item.revision) return false;
    const task = openTask.get(item.taskId, unitId);
    if (withheld(unitId, now()) || task === undefined) return false;
    const isBlocked = accepted.blocking({ unitId, sourceDigest, text, findings, qaIdentity }).length > 0;
    const { authorKind, tokenId, provider, providerRunId } = origin;
    targets.put(
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
        updatedAt: now(),
      },
      {
        ...NO_PROVENANCE,
        reason: `repeats ${unitIdText(item.followsId)}`,
        judgedBy: item.judgedBy,
        taskId: item.taskId,
        releaseId,
      },
    );
    if (isOpen(before?.state ?? 'untranslated') && task['state'] !== 'failed')
      note(Number(task['build_id']), Number(task['task_seq']));
    return true;
  };
  return ({ builtFor, items, done }) =>
    database.transaction(() => {
      if (!mark.isCurrent(builtFor)) return null;
      const written = items.filter((item) => write(item, builtFor.releaseId)).length;
      for (const entry of done) queue.remove(entry);
      counts.refresh(now());
      const judgedBy = items.map((item) => item.judgedBy);
      return { written, event: eventOf({ judgedBy, neverRepeats: true }) };
    });
}
