import type { UnitLanguages, UnitLocator } from '../../../exchange/units/unit-record.ts';
import type { AdminApi } from '../admin-api.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { readReport, type ReportOf } from '../reports.ts';

/** A unit of the text-units report. */
export type ServiceUnit = ReportOf<'parse.text_units'>['items'][number];

/** A translation task of the tasks report. */
export type ServiceTask = ReportOf<'translation.tasks'>['items'][number];

/** The history of one unit, newest last. */
export type UnitHistory = NonNullable<ReportOf<'parse.text_units'>['history']>;

/** The release and the index that pages belong to. */
export interface IndexState {
  readonly releaseId: string;
  readonly generation: number;
}

/** A page of units. */
export interface UnitPage {
  readonly index: IndexState;
  readonly languages: UnitLanguages;
  readonly total: number;
  readonly units: readonly ServiceUnit[];
}

const PAGE_ENTRIES = 1000;
/** Times that a command begins again because the service shows another release meanwhile. */
const MAX_RESTARTS = 10;

/** The service shows another release, or the same one by other rules, than on the page before. */
class IndexChanged extends Error {}

/**
 * Does something with pages of one index. It begins again when the service shows another one meanwhile.
 *
 * @param run gets the number of the attempt, from 1
 * @throws CtlFailure after too many restarts
 */
export async function withOneIndex<T>(run: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; attempt <= MAX_RESTARTS; attempt += 1) {
    try {
      return await run(attempt);
    } catch (error) {
      if (!(error instanceof IndexChanged)) throw error;
    }
  }
  throw new CtlFailure(
    CTL_EXITS.failed,
    `the text of the release changed ${MAX_RESTARTS} times while it was read; try again when parsing has ended`,
  );
}

/**
 * Pages through the text units. Call it within {@link withOneIndex}.
 *
 * @param query filters of the report
 * @param before the index of earlier pages; pages of another one are refused
 */
export async function* unitPages(
  api: AdminApi,
  query: Readonly<Record<string, string>>,
  before: IndexState | null = null,
): AsyncGenerator<UnitPage> {
  let index: IndexState | null = before;
  let offset: number | null = 0;
  while (offset !== null) {
    const page: ReportOf<'parse.text_units'> = await readReport(api, 'parse.text_units', {
      ...query,
      limit: String(PAGE_ENTRIES),
      offset: String(offset),
    });
    index = indexOf(page, index);
    yield { index, languages: languagesOf(page), total: page.total, units: page.items };
    offset = page.next_offset;
  }
}

/**
 * The index of a page. Call it within {@link withOneIndex}.
 *
 * @param before that of earlier pages; another one is refused
 * @throws CtlFailure when no release is indexed
 */
export function indexOf(page: ReportOf<'parse.text_units'>, before: IndexState | null): IndexState {
  const { release_id: releaseId, generation } = page;
  if (releaseId === null) {
    throw new CtlFailure(CTL_EXITS.failed, 'no release is indexed yet; run "slipway ctl parse"');
  }
  const isOther = before !== null && (releaseId !== before.releaseId || generation !== before.generation);
  if (isOther) throw new IndexChanged();
  return { releaseId, generation };
}

function languagesOf({ translations }: ReportOf<'parse.text_units'>): UnitLanguages {
  const { available, reason, source_language, target_language, tasks_built } = translations;
  if (!available || source_language === null || target_language === null) {
    throw new CtlFailure(
      CTL_EXITS.unavailable,
      `translations are not available: ${reason ?? 'no reason given'}`,
    );
  }
  if (tasks_built) return { sourceLanguage: source_language, targetLanguage: target_language };
  throw new CtlFailure(
    CTL_EXITS.failed,
    'the translation tasks of the release are not built yet; try again when the task task-build has ended',
  );
}

/** Pages through the translation tasks that fit a query. */
export async function* eachTask(
  api: AdminApi,
  query: Readonly<Record<string, string>>,
): AsyncGenerator<ServiceTask> {
  for (let offset = 0; ; offset += PAGE_ENTRIES) {
    const page: ReportOf<'translation.tasks'> = await readReport(api, 'translation.tasks', {
      ...query,
      limit: String(PAGE_ENTRIES),
      offset: String(offset),
    });
    yield* page.items;
    if (offset + page.items.length >= page.total || page.items.length === 0) return;
  }
}

/** The place of a unit, as files hold it. */
export function placeOf({ destination, archive_entry, path_id, field_path }: ServiceUnit): UnitLocator {
  return {
    destination,
    archive_entry,
    path_id: path_id === null ? null : String(path_id),
    field_path: field_path ?? '',
  };
}
