import { EXCHANGE_FORMATS, type FormatName } from '../../../contract/formats/exchange-formats.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import type { UnitRecord } from '../../../exchange/units/unit-record.ts';
import { exchangeTaskError } from '../../../engine/exchange/exchange-failure.ts';
import { writeExport } from '../../../engine/exchange/write-export.ts';
import { destinationGlob } from '../../parse/index/read/unit-filter.ts';
import { unitIdText } from '../../unit-id-text.ts';
import {
  FIRST_UNIT,
  type IndexedUnit,
  type UnitPlace,
  type UnitsAfter,
} from '../../parse/index/read/units-after.ts';
import type { ArgumentsOf } from '../../../engine/tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../../engine/tasks/task.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';
import type { BuiltFor } from '../work/store/builds.ts';
import type { ExportedTarget } from '../work/read/exported-targets.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import type { HANDOFF_EXPORT_JOB } from './review-jobs.ts';

interface HandoffExportPorts {
  readonly thread: TranslationThread;
  readonly unitsAfter: UnitsAfterPort;
  readonly languages: () => LanguagePair;
  readonly exchangeRoot: () => string;
  readonly clock: Clock;
}

type ExportContext = TaskContext<ArgumentsOf<typeof HANDOFF_EXPORT_JOB>>;

/** Bounds of one page: it passes through the event loop. */
const PAGE = { units: 200, characters: 256 * 1024 };
/** Exports that begin again because the release changed meanwhile. */
const MAX_RESTARTS = 10;
const NAMED_UNITS = 100;

/** The index or the tasks are those of another release than at the start. */
class MovedOn extends Error {}

/**
 * Writes the units of the current tasks to a file. The file gets its name when it is complete. When the release or the index changes
 * meanwhile, the export begins again.
 *
 * @throws TaskError `text_not_indexed`, `tasks_not_built`, those of the exchange folder, of the parse index and of translation.db;
 * the signal's reason
 */
export async function exportHandoff(ports: HandoffExportPorts, context: ExportContext): Promise<TaskResult> {
  for (let run = 0; run < MAX_RESTARTS; run += 1) {
    const first = await readPage(ports, FIRST_UNIT, context.signal);
    if (first.releaseId === null) {
      throw new TaskError('text_not_indexed', 'no release is indexed yet; run "slipway ctl parse"');
    }
    try {
      return await exportOnce(ports, context, { releaseId: first.releaseId, generation: first.generation });
    } catch (error) {
      if (!(error instanceof MovedOn)) throw error;
    }
  }
  throw new TaskError(
    'tasks_not_built',
    'the translation tasks are not those of the parse index; try again when task-build has ended',
    { retryable: true },
  );
}

async function exportOnce(
  ports: HandoffExportPorts,
  context: ExportContext,
  exported: BuiltFor,
): Promise<TaskResult> {
  const { args, signal } = context;
  const { sourceLanguage, targetLanguage } = ports.languages();
  const file = fileNameOf(exported, targetLanguage, args.format);
  const refused: { unit_id: string; message: string }[] = [];
  let refusedCount = 0;
  let units = 0;
  const written = {
    format: args.format,
    languages: { sourceLanguage, targetLanguage },
    copiesSource: args.copy_source,
  };
  // Spares the daemon the readers and writers of all formats until a file is exported.
  const { writeUnits } = await import('../../../exchange/units/unit-formats.ts');
  const parts = writeUnits(written, recordsOf(ports, context, exported), {
    written: () => {
      units += 1;
    },
    refused: ({ unit_id }, message) => {
      refusedCount += 1;
      if (refused.length < NAMED_UNITS) refused.push({ unit_id, message });
    },
  });
  try {
    const { bytes, sha256 } = await writeExport(ports.exchangeRoot(), file, parts, signal);
    const createdAt = unixSeconds(ports.clock);
    const { releaseId, generation } = exported;
    await ports.thread.addExport({ releaseId, file, sha256, units, createdAt });
    return {
      file,
      sha256,
      bytes,
      units,
      created_at: createdAt,
      release_id: releaseId,
      generation,
      refused: refusedCount,
      refused_units: refused,
    };
  } catch (error) {
    throw exchangeTaskError(file, error);
  }
}

async function* recordsOf(
  ports: HandoffExportPorts,
  context: ExportContext,
  { releaseId, generation }: BuiltFor,
): AsyncGenerator<UnitRecord> {
  const { args, signal } = context;
  const states = new Set(args.states.split(','));
  const isIncluded = destinationGlob(args.include);
  let from: UnitPlace | null = FIRST_UNIT;
  let read = 0;
  while (from !== null) {
    const page: UnitsAfter = await readPage(ports, from, signal);
    if (page.releaseId !== releaseId || page.generation !== generation) throw new MovedOn();
    const wanted = page.items.filter(({ destination }) => isIncluded(destination));
    const targets = await ports.thread.exportTargets(
      { releaseId, generation, units: wanted.map(({ unitId, sourceDigest }) => ({ unitId, sourceDigest })) },
      { signal },
    );
    if (targets === null) throw new MovedOn();
    for (const [at, unit] of wanted.entries()) {
      const target = targets[at] ?? null;
      if (target !== null && states.has(target.state)) yield recordOf(unit, target);
    }
    read += page.items.length;
    context.progress(read, page.total, 'units', 'exporting units');
    from = page.next;
  }
}

async function readPage(
  { unitsAfter }: HandoffExportPorts,
  from: UnitPlace,
  signal: AbortSignal,
): Promise<UnitsAfter> {
  return await unitsAfter({ from, limit: PAGE.units, maxCharacters: PAGE.characters }, signal);
}

function recordOf(unit: IndexedUnit, target: ExportedTarget): UnitRecord {
  const { destination, archiveEntry, pathId, fieldPath, speaker, scene } = unit;
  return {
    unit_id: unitIdText(unit.unitId),
    locator: { destination, archive_entry: archiveEntry, path_id: pathId, field_path: fieldPath },
    source_text: unit.sourceText,
    target_text: target.text,
    state: target.state,
    note: null,
    context: { ...(speaker === null ? {} : { speaker }), ...(scene === null ? {} : { scene }) },
    previous_source: target.previousSource,
    previous_target: target.previousTarget,
    revision: target.revision,
  };
}

/** The name of the file: one for each release, language and format, so that a later export replaces an earlier one. */
function fileNameOf({ releaseId }: BuiltFor, targetLanguage: string, format: FormatName<'units'>): string {
  const [extension] = EXCHANGE_FORMATS.units[format].endings;
  const kind = extension === format ? '' : `.${format}`;
  return `handoff/${releaseId}.${targetLanguage}${kind}.${extension}`;
}
