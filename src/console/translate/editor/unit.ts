import type { Report } from '../../api/wire.ts';
import type { MarkedSpan } from '../../components/chip-text.tsx';
import type { App } from '../../state/app.ts';
import type { UnitBase, UnitDraft } from './draft/unit-draft.ts';

/** A text unit as the editor sees it; pure. */

export type Unit = Report<'parse.text_units'>['items'][number];

export type UnitTranslation = NonNullable<Unit['translation']>;

export type UnitFinding = UnitTranslation['findings'][number];

export type UnitHistory = NonNullable<Report<'parse.text_units'>['history']>;

export type UnitState = UnitTranslation['state'];

/** How a state is shown: a sign, so that colour is never alone. */
interface StateWording {
  readonly sign: string;
  readonly tone: 'ok' | 'warn' | 'bad' | 'info' | 'idle';
  readonly word: string;
}

const LOOKS: Readonly<Record<UnitState, StateWording>> = {
  untranslated: { sign: '○', tone: 'idle', word: 'untranslated' },
  draft: { sign: '◐', tone: 'info', word: 'draft' },
  translated: { sign: '●', tone: 'info', word: 'translated' },
  proofread: { sign: '✓', tone: 'ok', word: 'proofread' },
  blocked: { sign: '!', tone: 'bad', word: 'blocked' },
  stale: { sign: '↻', tone: 'warn', word: 'stale' },
};

/** How a state is shown; an unknown one has a question mark. */
export function lookOf(state: string): StateWording {
  return (LOOKS as Readonly<Record<string, StateWording>>)[state] ?? { sign: '?', tone: 'idle', word: state };
}

/** Longest text that a control action carries, UTF-16 code units. */
const MAX_TEXT = 65_536;
/** Longest address of a request that is sent, bytes: the server refuses a request head of 16 KiB, which also holds the token. */
const MAX_ADDRESS = 12_000;
/** Longest beginning of a neighbour in the context of the Translation Memory, UTF-16 code units. */
const NEIGHBOUR_CHARACTERS = 500;

/** The version of a unit that an edit begins with. */
export function baseOf({ source_text: source, translation }: Unit): UnitBase {
  return { revision: translation?.revision ?? 0, source, target: translation?.target_text ?? '' };
}

/** Why a unit cannot be edited here; `null` when it can. */
export function obstacleTo({ is_cut: isCut, source_text: source, translation }: Unit): string | null {
  if (translation === null) return 'Translations are not available now.';
  if (translation.task_id === null)
    return 'The tasks of this release are not built yet. Wait until the parse has ended.';
  if (isCut || translation.is_cut || source.length > MAX_TEXT)
    return 'This text is too long for the editor. Export its task to a file.';
  return null;
}

/** The state of a unit in a list, which may be older than the text that was stored last. */
export function stateOf({ translation }: Unit, draft: UnitDraft | undefined): string {
  const isNewer = draft !== undefined && draft.base.revision > (translation?.revision ?? 0);
  if (isNewer && draft.phase.kind === 'saved') return draft.phase.state;
  return translation?.state ?? 'unknown';
}

/** Whether a unit in a state still needs a text. */
export function needsText(state: string): boolean {
  return state === 'untranslated' || state === 'stale' || state === 'blocked';
}

/** The review that has returned a unit; `null` when there is none, or the person has stored another text since. */
export function returnOf({ translation }: Unit, draft: UnitDraft | undefined): UnitTranslation['returned'] {
  const isNewer = (draft?.base.revision ?? 0) > (translation?.revision ?? 0);
  return isNewer ? null : (translation?.returned ?? null);
}

/** Whether a translator has something to do in a unit: it needs a text, or a reviewer has returned it. */
export function needsWork(unit: Unit, draft: UnitDraft | undefined): boolean {
  return needsText(stateOf(unit, draft)) || returnOf(unit, draft) !== null;
}

/** The most serious finding of a unit, and how many there are; `null` without one. Waived ones do not count. */
export function findingMark({
  translation,
}: Unit): { readonly tone: 'bad' | 'warn' | 'idle'; readonly count: number } | null {
  const { findings = [], waivers = [] } = translation ?? {};
  const open = findings.filter(({ check }) => !waivers.some((each) => each.check === check));
  if (open.length === 0) return null;
  const has = (severity: UnitFinding['severity']): boolean => open.some((each) => each.severity === severity);
  return { tone: has('error') ? 'bad' : has('warning') ? 'warn' : 'idle', count: open.length };
}

/** Whether a unit in a state waits for a reviewer. */
export function needsReview(state: string): boolean {
  return state === 'draft' || state === 'translated' || state === 'blocked';
}

/** The parameters that select the units of a container. */
export function containerQuery({
  destination,
  archive_entry: entry,
}: {
  readonly destination: string;
  readonly archive_entry: string | null;
}): Readonly<Record<string, string>> {
  return { destination, ...(entry === null ? {} : { archive_entry: entry }) };
}

/**
 * The parameters that select one unit, so that the report also has its history; its position in the container where an
 * address with them would be too long.
 *
 * @param index its position in the container
 */
export function unitQuery(unit: Unit, index: number): Readonly<Record<string, string>> {
  const container = containerQuery(unit);
  const exact = {
    ...container,
    limit: '2',
    ...(unit.path_id === null ? {} : { path_id: String(unit.path_id) }),
    ...(unit.field_path === null ? {} : { field_path: unit.field_path }),
  };
  const isExact = unit.field_path !== null && unit.field_path !== '' && fitsAddress(exact);
  return isExact ? exact : { ...container, offset: String(index), limit: '1' };
}

/** Whether the server accepts an address with these parameters. */
export function fitsAddress(query: Readonly<Record<string, string>>): boolean {
  return new URLSearchParams(query).toString().length <= MAX_ADDRESS;
}

/** Where a text is, as the scopes of the Glossary know it. */
export function placeOf(unit: Unit): Record<string, string> {
  const { destination, archive_entry: entry, field_path: field, speaker, scene } = unit;
  return {
    destination,
    field_path: field ?? '',
    ...(entry === null ? {} : { archive_entry: entry }),
    ...(speaker === null ? {} : { speaker }),
    ...(scene === null ? {} : { scene }),
  };
}

/** Where a text is, as the Translation Memory knows it: with the begin of the texts before and after it. */
export function memoryContext(
  unit: Unit,
  around: readonly { readonly unit: Unit }[],
): Record<string, string> {
  const textOf = (id: string | null): Unit | undefined =>
    around.find((each) => each.unit.unit_id === id)?.unit;
  const previous = textOf(unit.previous_unit_id);
  const next = textOf(unit.next_unit_id);
  return {
    ...placeOf(unit),
    ...(previous === undefined ? {} : { previous: beginningOf(previous.source_text) }),
    ...(next === undefined ? {} : { next: beginningOf(next.source_text) }),
  };
}

function beginningOf(text: string): string {
  const cut = text.slice(0, NEIGHBOUR_CHARACTERS);
  // No half of a surrogate pair may be left at the end.
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

/** The last part of the place of a unit, which distinguishes it from its neighbours, such as `Id=118 · TextJp`. */
export function keyOf({ key_path: path, field_path: field }: Unit): string {
  const last = path.at(-1) ?? field ?? '';
  const parts = last.split(/[#/]/).filter((part) => part !== '');
  return parts.slice(-2).join(' · ');
}

export type TranslationTask = Report<'translation.tasks'>['items'][number];

/** The key of the feed of the task that the editor shows. */
export function taskFeedKey(app: App): string {
  return `translation-task:${app.route.argument ?? ''}`;
}

/** The tone of a severity. */
export function toneOf(severity: string): 'bad' | 'warn' | 'info' {
  return severity === 'error' ? 'bad' : severity === 'warning' ? 'warn' : 'info';
}

/** The places of findings in the source or the target of a unit, to be marked there. */
export function spansOf(
  findings: readonly UnitFinding[],
  side: 'source_span' | 'target_span',
): readonly MarkedSpan[] {
  return findings.flatMap(({ [side]: span, severity, message }) =>
    span === null ? [] : { ...span, tone: toneOf(severity), note: message },
  );
}
