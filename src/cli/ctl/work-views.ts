import { countText } from '../../domain/count-text.ts';
import { LEFT_OUT_BLOCKERS, unitsOfState } from '../../domain/translation/left-out-blockers.ts';
import { itemTable, type Column, type View } from './output/view.ts';
import type { ReportOf } from './reports.ts';
import { textExcerpt, textFields, textTable, textTime } from '../../platform/terminal/text-table.ts';

type Handoff = ReportOf<'translation.handoff'>;
type TranslationTask = ReportOf<'translation.tasks'>['items'][number];
type TextUnits = ReportOf<'parse.text_units'>;
type Unit = TextUnits['items'][number];
type TranslationStatus = ReportOf<'translation.status'>;

const MAX_TEXT = 60;

/** Renders how much of the official release is translated, and what blocks publishing it. */
export function renderCoverage(
  { current, automation, coverage, history, publish_blockers: blockers }: TranslationStatus,
  { now }: View,
): string {
  const { units, accepted, translated, by_state: byState, blocked_left_out: leftOut = 0 } = coverage;
  return textFields([
    ['release', coverage.release_id ?? '-'],
    ['language', coverage.target_language],
    ['localized', localizedText(current, now)],
    ...rolledBackFields(history, now),
    ['follows', followsText(automation)],
    ['units', unitsText(coverage)],
    ['accepted (proofread)', shareOf(accepted, units)],
    ['translated or accepted', shareOf(translated, units)],
    [
      'states',
      `${countsText(byState)}${leftOut > 0 ? ` (${leftOut} in files or tasks that are not published)` : ''}`,
    ],
    ...blockers.map((blocker): [string, string] => [
      LEFT_OUT_BLOCKERS.has(blocker.code) ? 'not published' : 'blocks publishing',
      blockerText(blocker, byState),
    ]),
  ]);
}

/** The message of `followed` says it already. */
function followsText({ state, message }: TranslationStatus['automation']): string {
  return state === 'followed' ? message : `${state}: ${message}`;
}

function blockerText(
  blocker: TranslationStatus['publish_blockers'][number],
  byState: TranslationStatus['coverage']['by_state'],
): string {
  const { code, message, count } = blocker;
  const all = unitsOfState(blocker, byState);
  return all === null
    ? `${count} ${code}: ${message}`
    : `${count} of ${all} ${code}: ${message}; the others are on hold, or in files or tasks that are not published`;
}

function unitsText({ units, skipped, excluded = 0 }: TranslationStatus['coverage']): string {
  const parts = [String(units)];
  if (skipped > 0) parts.push(`${skipped} in skipped tasks`);
  if (excluded > 0) parts.push(`${excluded} in files that localized.include and localized.exclude leave out`);
  return parts.join(', ');
}

function localizedText(current: TranslationStatus['current'], now: number): string {
  if (current === null) return 'none';
  const stale = current.stale ? `, stale: made for ${current.base_release_id}` : '';
  return `${current.localized_release_id}, ${current.state}, ${current.integrity}, became current ${textTime(current.published_at, now)}${stale}`;
}

function rolledBackFields(history: TranslationStatus['history'], now: number): [string, string][] {
  const taken = history.filter(({ rolled_back: rollback }) => rollback !== null);
  const last = taken.toSorted((one, other) => (other.rolled_back?.at ?? 0) - (one.rolled_back?.at ?? 0))[0];
  if (last?.rolled_back === undefined || last.rolled_back === null) return [];
  const { at, reviewer, reason } = last.rolled_back;
  const by = reviewer === null ? '' : ` by ${reviewer}`;
  return [
    [
      'rolled back',
      `${last.localized_release_id}, ${textTime(at, now)}${by}${reason === null ? '' : `: ${reason}`}`,
    ],
  ];
}

/** Renders the work that can be handed to translators. */
export function renderHandoff(
  { releases, open_conflicts: conflicts, last_export: last }: Handoff,
  { now }: View,
): string {
  const summary = textFields([
    ...releases.map((release): [string, string] => [
      `release ${release.release_id}`,
      countsText(release.counts),
    ]),
    ['conflicts', conflicts === null ? 'unknown: the Translation Memory cannot be used' : String(conflicts)],
    [
      'last export',
      last === null
        ? 'none'
        : `${last.file}, ${countText(last.units, 'unit')} of ${last.release_id}, ${textTime(last.created_at, now)}`,
    ],
  ]);
  return [
    summary,
    ...releases.flatMap(readyTable),
    ...releases.flatMap(blockedTable),
    ...releases.flatMap(heldTable),
  ].join('\n');
}

function readyTable({ ready, ready_total: total }: Handoff['releases'][number]): string[] {
  if (ready.length === 0) return [];
  const rows = ready.map((task) => [
    task.task_id,
    task.status,
    String(task.units),
    placeText(task),
    whyOf(task),
  ]);
  return [
    textTable(['READY TASK', 'STATUS', 'UNITS', 'PLACE', 'WHY'], rows),
    ...more(total.tasks - ready.length, `tasks; ${countText(total.units, 'unit')} in all`),
  ];
}

function blockedTable({ blocked, blocked_total: total }: Handoff['releases'][number]): string[] {
  if (blocked.length === 0) return [];
  const rows = blocked.map((unit) => [
    unit.unit_id,
    unit.task_id,
    [...unit.codes, ...(unit.left_out ? [`(${unit.left_out})`] : [])].join(' '),
    unit.qa_identity ?? '-',
  ]);
  return [
    textTable(['BLOCKED UNIT', 'TASK', 'FINDINGS', 'QA IDENTITY'], rows),
    ...more(total - blocked.length, 'blocked units'),
  ];
}

function heldTable({ held, held_total: total }: Handoff['releases'][number]): string[] {
  if (held.length === 0) return [];
  const rows = held.map((unit) => [unit.unit_id, unit.task_id, unit.reviewer ?? '-', unit.reason ?? '-']);
  return [
    textTable(['UNIT ON HOLD', 'TASK', 'BY', 'REASON'], rows),
    ...more(total - held.length, 'units on hold'),
  ];
}

function more(count: number, what: string): string[] {
  return count > 0 ? [`and ${count} more ${what}\n`] : [];
}

/** Renders translation tasks, one a line. */
export function renderTranslationTasks(
  { items, total, counts, offset }: ReportOf<'translation.tasks'>,
  view: View,
): string {
  if (total === 0) return 'there are no such translation tasks\n';
  const columns: Array<Column<TranslationTask>> = [
    { title: 'TASK', cell: ({ task_id: id }) => id },
    { title: 'RELEASE', cell: ({ release_id: id }) => id },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'WORKER', cell: ({ worker_status: status }) => status },
    { title: 'UNITS', cell: ({ unit_counts: units }) => countsText(units) },
    { title: 'UPDATED', cell: ({ updated_at: at }) => textTime(at, view.now) },
    { title: 'FORMAT', cell: ({ format }) => format, wide: true },
    { title: 'PARSED', cell: ({ parse_status: status }) => status, wide: true },
    { title: 'ATTEMPT', cell: ({ attempt, max_attempts: most }) => `${attempt} of ${most}`, wide: true },
    { title: 'PROVIDER', cell: ({ provider }) => provider ?? '-', wide: true },
    { title: 'PLACE', cell: placeText },
    { title: 'WHY', cell: (task) => whyOf(task, task.lease_owner) },
  ];
  const next = offset + items.length;
  const rest = next < total ? `; --offset ${next} shows more` : '';
  return `${itemTable(items, columns, view)}${countText(total, 'task')}: ${countsText(counts)}${rest}\n`;
}

function whyOf(
  { reason, failure_reason: failure }: { reason: string | null; failure_reason: string | null },
  owner: string | null = null,
): string {
  const facts = [failure ?? '', reason ?? '', owner === null ? '' : `leased by ${owner}`];
  return facts.filter((fact) => fact !== '').join('; ') || '-';
}

/** Units that a search shows without `--limit`. */
export const DEFAULT_UNITS = 100;

/** The columns of units that a search has found. */
export const unitColumns: ReadonlyArray<Column<Unit>> = [
  { title: 'UNIT', cell: ({ unit_id: id }) => id, wide: true },
  { title: 'STATE', cell: ({ translation }) => translation?.state ?? '-' },
  { title: 'SPEAKER', cell: ({ speaker }) => speaker ?? '-' },
  { title: 'SOURCE', cell: ({ source_text: text }) => textExcerpt(text, MAX_TEXT) },
  { title: 'TRANSLATION', cell: ({ translation }) => textExcerpt(shownTarget(translation), MAX_TEXT) },
  { title: 'PLACE', cell: (unit) => `${placeText(unit)} ${unit.field_path ?? ''}`.trimEnd() },
];

function shownTarget(translation: Unit['translation']): string {
  return translation?.target_text ?? translation?.previous_target ?? '-';
}

/** Renders terms of the Glossary. */
export function renderTerms({ items, total }: ReportOf<'translation.glossary.query'>, view: View): string {
  if (total === 0) return 'there are no such terms\n';
  const columns: Array<Column<(typeof items)[number]>> = [
    { title: 'TERM', cell: ({ term_id: id }) => id },
    { title: 'STATE', cell: ({ review_status: status }) => status },
    { title: 'SOURCE', cell: ({ source_term: text }) => textExcerpt(text, MAX_TEXT) },
    { title: 'TRANSLATION', cell: (term) => textExcerpt(term.recommended_translation, MAX_TEXT) },
    { title: 'ALIASES', cell: ({ aliases }) => textExcerpt(aliases.join(', ') || '-', MAX_TEXT), wide: true },
    { title: 'CATEGORY', cell: ({ category }) => category || '-' },
  ];
  const more = total > items.length ? '; --limit shows more' : '';
  return `${itemTable(items, columns, view)}${countText(total, 'term')}${more}\n`;
}

/** Renders records of the Translation Memory. */
export function renderRecords(
  { matches, truncated }: ReportOf<'translation.memory.query'>,
  view: View,
): string {
  if (matches.length === 0) return 'no record has this text\n';
  const columns: Array<Column<(typeof matches)[number]>> = [
    { title: 'RECORD', cell: ({ record }) => record.record_id },
    { title: 'STATE', cell: ({ record }) => record.state },
    { title: 'SOURCE', cell: ({ record }) => textExcerpt(record.source_text, MAX_TEXT) },
    { title: 'TARGET', cell: ({ record }) => textExcerpt(record.target_text, MAX_TEXT) },
    { title: 'REVIEWER', cell: ({ record }) => record.reviewer ?? '-', wide: true },
    { title: 'ORIGIN', cell: ({ record }) => record.provenance.origin },
  ];
  const bound = truncated ? 'older records were not read: search for three or more characters\n' : '';
  return `${itemTable(matches, columns, view)}${bound}`;
}

/** Renders one text unit, its translation and its history. */
export function renderUnit({ items, total, translations, history }: TextUnits, { now }: View): string {
  const [unit] = items;
  if (unit === undefined)
    return 'no text unit is at this place; list those of a file with "slipway ctl report parse.text_units path_pattern=FILE"\n';
  const fields = textFields([
    ['unit', unit.unit_id],
    ['place', `${placeText(unit)} ${unit.field_path ?? ''}`.trimEnd()],
    ...(unit.speaker === null ? [] : [['speaker', unit.speaker] satisfies [string, string]]),
    ['source', unit.source_text],
    ...(unit.translation === null
      ? [['translation', translations.reason ?? 'not available'] satisfies [string, string]]
      : translationFields(unit.translation, now)),
  ]);
  if (total > 1)
    return `${fields}\nand ${countText(total - 1, 'more unit has', 'more units have')} this field; name the archive entry\n`;
  return history === null ? fields : `${fields}\n${historyTable(history, now)}`;
}

function translationFields(
  translation: NonNullable<Unit['translation']>,
  now: number,
): Array<[string, string]> {
  const { author, findings, waivers, hold, claim, lease, updated_at: updatedAt } = translation;
  const waived = new Set(waivers.map(({ check }) => check));
  const optional: Array<[string, string | null]> = [
    ['target', translation.target_text],
    ['previous source', translation.previous_source],
    ['previous target', translation.previous_target],
    ['author', author === null ? null : authorText(author)],
    ['changed', updatedAt === null ? null : textTime(updatedAt, now)],
    ['carried over', translation.carried_by],
    ['qa identity', translation.qa_identity],
    [
      'hold',
      hold === null ? null : [hold.reviewer, hold.reason, textTime(hold.at, now)].filter(Boolean).join(', '),
    ],
    ['claim', claim === null ? null : `${claim.owner}, expires ${textTime(claim.expires_at, now)}`],
    ['lease', lease === null ? null : `${lease.owner}, expires ${textTime(lease.expires_at, now)}`],
  ];
  return [
    ['task', translation.task_id ?? '-'],
    ['state', `${translation.state}, revision ${translation.revision}`],
    ...optional.filter((field): field is [string, string] => field[1] !== null),
    ...findings.map(({ check, severity, message }): [string, string] => [
      `${severity} ${check}`,
      waived.has(check) ? `${message} (waived)` : message,
    ]),
  ];
}

function historyTable({ items, is_cut: isCut }: NonNullable<TextUnits['history']>, now: number): string {
  const rows = items.map((entry) => [
    String(entry.revision),
    textTime(entry.at, now),
    entry.state,
    authorText(entry.author),
    [entry.reviewer, entry.reason].filter((fact) => fact !== null && fact !== '').join(': ') || '-',
    textExcerpt(entry.target_text, MAX_TEXT),
  ]);
  const table = textTable(['REVISION', 'STORED', 'STATE', 'AUTHOR', 'REVIEWER', 'TARGET'], rows);
  return isCut ? `${table}older entries are not shown\n` : table;
}

function authorText({
  kind,
  token_id: token,
  provider,
}: NonNullable<NonNullable<Unit['translation']>['author']>): string {
  const by = token === null ? '' : ` by token ${token}`;
  return `${kind}${provider === null ? '' : ` ${provider}`}${by}`;
}

function placeText(place: { readonly destination: string; readonly archive_entry: string | null }): string {
  return place.archive_entry === null ? place.destination : `${place.destination}!/${place.archive_entry}`;
}

function shareOf(part: number, all: number): string {
  return all === 0 ? String(part) : `${part} (${Math.floor((100 * part) / all)} %)`;
}

/** The counts that are not 0, such as `draft 5, stale 1`. */
function countsText(counts: Readonly<Record<string, number>>): string {
  const found = Object.entries(counts).filter(([, count]) => count > 0);
  return found.length === 0 ? '-' : found.map(([name, count]) => `${name} ${count}`).join(', ');
}
