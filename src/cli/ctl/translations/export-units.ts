import { randomUUID } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { FormatName } from '../../../contract/formats/exchange-formats.ts';
import { writeUnits } from '../../../exchange/units/unit-formats.ts';
import type { UnitRecord } from '../../../exchange/units/unit-record.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { AdminApi } from '../admin-api.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { exportRecord, exportSkip, type ExportChoice } from './export-record.ts';
import type { GlossaryHints } from './glossary-hints.ts';
import { eachTask, unitPages, withOneIndex, type UnitPage } from './service-pages.ts';

interface ExportOptions extends ExportChoice {
  readonly path: string;
  readonly format: FormatName<'units'>;
  /** Whether a missing target is written as a copy of its source; default as usual for the format. */
  readonly copiesSource: boolean | undefined;
  /** Filters of the text-units report. */
  readonly query: Readonly<Record<string, string>>;
  readonly replaces: boolean;
  readonly hints: GlossaryHints;
  readonly progress: (text: string) => void;
}

/** The counts of an export. */
export interface ExportResult {
  readonly release_id: string;
  readonly units: number;
  readonly tasks: number;
  readonly by_state: Readonly<Record<string, number>>;
  readonly left_out: Readonly<Record<string, number>>;
  /** Units that the format cannot carry, at most 20. */
  readonly refused: readonly string[];
}

const NAMED_REFUSALS = 20;

/**
 * Writes units to a file, page by page. The file appears at its path when it is complete.
 *
 * @throws CtlFailure, also when the file exists and is not to be replaced
 */
export async function exportUnits(api: AdminApi, options: ExportOptions): Promise<ExportResult> {
  const { path, replaces, progress } = options;
  if (!replaces && (await exists(path))) {
    throw new CtlFailure(CTL_EXITS.usage, `${path} exists; give another name, or --force to replace it`);
  }
  return await withOneIndex(async (attempt) => {
    if (attempt > 1) progress('the text of the release changed; the export begins again');
    const part = `${path}.${randomUUID().slice(0, 8)}.part`;
    try {
      const result = await writePart(api, options, part);
      await rename(part, path);
      return result;
    } catch (error) {
      await rm(part, { force: true });
      if (error instanceof CtlFailure || errorCode(error) === null) throw error;
      throw new CtlFailure(CTL_EXITS.failed, `cannot write ${path}: ${messageOf(error)}`, { cause: error });
    }
  });
}

async function writePart(api: AdminApi, options: ExportOptions, part: string): Promise<ExportResult> {
  const pages = unitPages(api, options.query);
  const first = await pages.next();
  if (first.done === true) throw new Error('the report gave no page');
  const { index, languages, total } = first.value;
  const { path_pattern: glob } = options.query;
  if (glob !== undefined && total === 0) {
    throw new CtlFailure(
      CTL_EXITS.failed,
      `no file with text fits --destination ${glob}; in a path, * matches any part of a name, ** any folders and ? one character; nothing else is special`,
    );
  }
  const reasons = await readTaskReasons(api, index.releaseId);
  const count = new ExportCount();
  const records = eachRecord(first.value, pages, { ...options, reasons }, count);
  const { format, copiesSource } = options;
  const text = writeUnits({ format, languages, copiesSource }, records, {
    written: () => undefined,
    refused: ({ unit_id, state }, message) => count.refuse(unit_id, state, message),
  });
  // The file is there before anything can fail: a file that is opened meanwhile could appear after it was removed.
  const file = await open(part, 'wx');
  await pipeline(text, file.createWriteStream({ flush: true }));
  return { release_id: index.releaseId, ...count.result() };
}

async function readTaskReasons(api: AdminApi, releaseId: string): Promise<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>();
  for await (const { task_id: id, reason } of eachTask(api, { release_id: releaseId, has_reason: 'true' })) {
    if (reason !== null) reasons.set(id, reason);
  }
  return reasons;
}

async function* eachRecord(
  first: UnitPage,
  others: AsyncIterable<UnitPage>,
  options: ExportOptions & { readonly reasons: ReadonlyMap<string, string> },
  count: ExportCount,
): AsyncGenerator<UnitRecord> {
  let seen = 0;
  const recordsOf = async function* (page: UnitPage): AsyncGenerator<UnitRecord> {
    for (const unit of page.units) {
      const skip = exportSkip(unit, options);
      if (skip !== null) {
        count.leaveOut(skip);
        continue;
      }
      const taskId = unit.translation?.task_id ?? '';
      const record = exportRecord(unit, await options.hints(unit), options.reasons.get(taskId) ?? null);
      count.add(record.state, taskId);
      yield record;
    }
    seen += page.units.length;
    options.progress(`exporting: ${seen} of ${page.total} units read`);
  };
  yield* recordsOf(first);
  for await (const page of others) yield* recordsOf(page);
}

class ExportCount {
  readonly #byState = new Map<string, number>();
  readonly #leftOut = new Map<string, number>();
  readonly #tasks = new Set<string>();
  readonly #refused: string[] = [];

  add(state: string, taskId: string): void {
    add(this.#byState, state, 1);
    this.#tasks.add(taskId);
  }

  leaveOut(reason: string): void {
    add(this.#leftOut, reason, 1);
  }

  /** A unit that was counted, and that the format cannot carry. */
  refuse(unitId: string, state: string, message: string): void {
    add(this.#byState, state, -1);
    add(this.#leftOut, 'not possible in the format', 1);
    if (this.#refused.length < NAMED_REFUSALS) this.#refused.push(`${unitId}: ${message}`);
  }

  result(): Omit<ExportResult, 'release_id'> {
    const byState = [...this.#byState].filter(([, units]) => units > 0);
    return {
      units: byState.reduce((sum, [, units]) => sum + units, 0),
      tasks: this.#tasks.size,
      by_state: Object.fromEntries(byState),
      left_out: Object.fromEntries(this.#leftOut),
      refused: this.#refused,
    };
  }
}

function add(counts: Map<string, number>, name: string, units: number): void {
  counts.set(name, (counts.get(name) ?? 0) + units);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw new CtlFailure(CTL_EXITS.usage, `cannot check for ${path}: ${messageOf(error)}`, { cause: error });
  }
}
