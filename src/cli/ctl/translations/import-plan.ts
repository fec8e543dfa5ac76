import type { ReadPlace, ReadResult } from '../../../exchange/units/unit-record.ts';
import type { FileUnit, FoundUnit, KnownUnit, MatchResult } from './match-units.ts';
import {
  findingsText,
  type Outcome,
  type SentFinding,
  type UnitOfFile,
  type UnitOutcome,
} from './outcomes.ts';
import { countText } from '../../../domain/count-text.ts';
import { isSameButLineEnds, targetOfTable } from '../../../domain/text/line-ends.ts';
import type { ServiceTask } from './service-pages.ts';

/** A target to send. */
export interface PlannedUnit {
  readonly from: UnitOfFile;
  readonly by: FoundUnit['by'];
  readonly unit: KnownUnit;
  readonly text: string;
}

/** A target that differs from a newer one of the service. Only its history says whether the file has changed it. */
export interface DoubtfulUnit extends PlannedUnit {
  /** Of the target when the file was written. */
  readonly exportedRevision: number;
}

interface ImportPlan {
  readonly send: readonly PlannedUnit[];
  readonly doubtful: readonly DoubtfulUnit[];
  /** Units that are not sent, and why. */
  readonly done: readonly UnitOutcome[];
  readonly taskIds: ReadonlySet<string>;
}

/** Characters (UTF-16 units) of a text that the action takes. */
const MAX_TEXT = 65_536;

const NOT_FOUND = { unit_id: null, matched_by: null, task_id: null, findings: [] } as const;

/** The units of a file that could be read, and the outcomes of the others. */
export function readableUnits(results: readonly ReadResult[]): {
  readonly units: readonly FileUnit[];
  readonly problems: readonly UnitOutcome[];
} {
  const units: FileUnit[] = [];
  const problems: UnitOutcome[] = [];
  for (const result of results) {
    if (result.kind === 'unit') units.push(result);
    else {
      const { unit_id, reason, message } = result;
      const detail = `${message} (${reason})`;
      problems.push({ ...unitOfFile(result, unit_id), outcome: 'unreadable', detail, ...NOT_FOUND });
    }
  }
  return { units, problems };
}

/**
 * Decides about every unit of a file. Nothing is asked and nothing is sent.
 *
 * @param workerId the person who imports: the units that this person has claimed can be changed
 */
export function planImport(
  units: readonly FileUnit[],
  matchOf: (unit: FileUnit) => MatchResult,
  workerId: string | null,
): ImportPlan {
  const send: PlannedUnit[] = [];
  const doubtful: DoubtfulUnit[] = [];
  const done: UnitOutcome[] = [];
  const taskIds = new Set<string>();
  const first: Surroundings['first'] = new Map();
  for (const read of units) {
    const match = matchOf(read);
    if (match.by !== null) taskIds.add(match.unit.taskId);
    const each = match.by === null ? read : withLineEndsOfService(read, match.unit);
    const remarks = [read.table?.remark ?? '', each === read ? '' : OTHER_LINE_ENDS];
    const from = unitOfFile(read, read.unit.unit_id, remarks.filter((remark) => remark !== '').join('; '));
    const decision = decide(each, match, { first, workerId, from });
    if ('outcome' in decision) done.push(outcomeOf(from, match, decision));
    else if (decision.exportedRevision === null) send.push(decision.planned);
    else doubtful.push({ ...decision.planned, exportedRevision: decision.exportedRevision });
  }
  return { send, doubtful, done, taskIds };
}

function unitOfFile({ line, sheet }: ReadPlace, unitId: string | null, remark = ''): UnitOfFile {
  return {
    line,
    ...(sheet === undefined ? {} : { sheet }),
    file_unit_id: unitId,
    ...(remark === '' ? {} : { remark }),
  };
}

const OTHER_LINE_ENDS =
  'the file has other line ends than the release or the stored target, which stay as they are';

/** A unit of a table with the line ends of the service; the same unit when they do not differ. */
function withLineEndsOfService(read: FileUnit, known: KnownUnit): FileUnit {
  const { unit, table } = read;
  if (table === undefined || unit.target_text === null) return read;
  const isSame = unit.source_text === known.sourceText;
  if (!isSame && !isSameButLineEnds(unit.source_text, known.sourceText)) return read;
  const target = targetOfTable(unit.target_text, known.targetText, isSame ? null : known.sourceText);
  if (isSame && target === unit.target_text) return read;
  return { ...read, unit: { ...unit, source_text: known.sourceText, target_text: target } };
}

/** The outcome of a unit that was to be sent. */
export function plannedOutcome(
  { from, by, unit }: PlannedUnit,
  outcome: Outcome,
  detail = '',
  findings: readonly SentFinding[] = [],
): UnitOutcome {
  const names = { unit_id: unit.unitId, matched_by: by, task_id: unit.taskId };
  return { ...from, ...names, outcome, detail, findings };
}

interface NotSent {
  readonly outcome: Outcome;
  readonly detail: string;
}

const TOO_LONG: NotSent = { outcome: 'too_long', detail: `more than ${MAX_TEXT} characters` };

type Decision = NotSent | { readonly planned: PlannedUnit; readonly exportedRevision: number | null };

interface Surroundings {
  /** Units of the file that were seen before, by id. */
  readonly first: Map<string, PlannedUnit>;
  readonly workerId: string | null;
  readonly from: UnitOfFile;
}

function decide({ unit }: FileUnit, match: MatchResult, { first, workerId, from }: Surroundings): Decision {
  if (match.by === null) {
    return match.isAmbiguous
      ? { outcome: 'ambiguous', detail: 'give its unit_id' }
      : { outcome: 'unknown_unit', detail: '' };
  }
  const text = unit.target_text ?? '';
  const known = match.unit;
  if (text === '') {
    return { outcome: 'no_target', detail: OPEN.has(known.state) ? `the unit is ${known.state}` : '' };
  }
  if (known.isCut) return TOO_LONG;
  if (known.sourceText !== unit.source_text) {
    const detail = `${textDifference(unit.source_text, known.sourceText)}; export it again`;
    return { outcome: 'source_changed', detail };
  }
  const before = first.get(known.unitId);
  if (before !== undefined) return repeated(before, text);
  const planned = { from, by: match.by, unit: known, text };
  first.set(known.unitId, planned);
  const decision = compare(planned, unit.revision);
  const isClaimed = known.claimedBy !== null && known.claimedBy !== workerId;
  if ('outcome' in decision || !isClaimed) return decision;
  return { outcome: 'claimed', detail: `by ${known.claimedBy}; --worker ${known.claimedBy} if it is you` };
}

/** Where two texts begin to differ. */
function textDifference(file: string, release: string): string {
  let at = 0;
  while (at < file.length && file[at] === release[at]) at += 1;
  const part = (text: string): string => JSON.stringify(text.slice(at, at + 20).toWellFormed());
  return `from character ${at + 1} on, the file has ${part(file)} and the release ${part(release)}`;
}

function repeated({ from, text: before }: PlannedUnit, text: string): NotSent {
  const { line, sheet } = from;
  const place = `on line ${line}${sheet === undefined ? '' : ` of the sheet ${JSON.stringify(sheet)}`}`;
  return before === text
    ? { outcome: 'unchanged', detail: `as ${place}` }
    : { outcome: 'duplicate', detail: place };
}

function compare(planned: PlannedUnit, exportedRevision: number | null): Decision {
  const { unit, text } = planned;
  if (!text.isWellFormed()) return { outcome: 'unreadable', detail: 'half of a surrogate pair' };
  if (Math.max(text.length, unit.sourceText.length) > MAX_TEXT) return TOO_LONG;
  if (unit.targetText === text) {
    return unit.state === 'blocked'
      ? { outcome: 'unchanged_blocked', detail: findingsText(unit.findings) }
      : { outcome: 'unchanged', detail: '' };
  }
  if (exportedRevision === null) {
    return unit.state === 'proofread'
      ? { outcome: 'conflict', detail: 'it is proofread, and the file has no revision; export it again' }
      : { planned, exportedRevision: null };
  }
  return { planned, exportedRevision: exportedRevision === unit.revision ? null : exportedRevision };
}

function outcomeOf(from: UnitOfFile, match: MatchResult, { outcome, detail }: NotSent): UnitOutcome {
  const found = match.by === null ? null : match.unit;
  const findings = outcome === 'unchanged_blocked' ? (found?.findings ?? []) : [];
  return {
    ...from,
    unit_id: found?.unitId ?? null,
    outcome,
    detail,
    matched_by: match.by,
    task_id: found?.taskId ?? null,
    findings,
  };
}

/** States of units that keep a task from being `translated`. */
const OPEN: ReadonlySet<string> = new Set(['untranslated', 'stale', 'blocked']);

/**
 * Says which tasks cannot become `translated` with the targets of a file: units without a usable target would stay.
 *
 * @param send the targets that nothing speaks against
 * @returns the reason of each such task
 */
export function unfinishedTasks(
  tasks: readonly ServiceTask[],
  send: readonly { readonly unit: { readonly taskId: string; readonly state: string } }[],
): Map<string, string> {
  const sentTo = Map.groupBy(send, ({ unit }) => unit.taskId);
  const reasons = new Map<string, string>();
  for (const { task_id: id, destination, unit_counts: counts } of tasks) {
    const open = [...OPEN].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
    const filled = (sentTo.get(id) ?? []).filter(({ unit }) => OPEN.has(unit.state)).length;
    const missing = open - filled;
    if (missing > 0)
      reasons.set(id, `${id} (${destination}): ${countText(missing, 'unit')} without a usable target`);
  }
  return reasons;
}
