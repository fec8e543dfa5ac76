import { join } from 'node:path';
import { publishOutcome, type PublishOutcome } from '../../../domain/translation/publish-outcome.ts';
import { createGlobFilter } from '../../../platform/config/glob-filter.ts';
import { unitIdBytes, unitIdText } from '../../parse/index/unit-id-text.ts';
import type { IndexedUnit, UnitPlace, UnitsAfter } from '../../parse/index/units-after.ts';
import type { Parse } from '../../parse/parse.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import type { Publishing, TargetMoment } from '../../translation/publishing/publishing.ts';
import type { PublishableTarget } from '../../translation/work/publishable-targets.ts';
import { createEditSpool, readEdits, type EditSpool } from './edit-spool.ts';
import {
  createCoverageTally,
  type BlockedUnit,
  type CoverageTally,
  type FrozenRelease,
  type PublishPolicy,
} from './frozen-release.ts';

/** Asks for the texts of a localized release. */
export interface FreezeRequest {
  /** The current official release. */
  readonly baseReleaseId: string;
  /** A file below the exchange folder with the targets; `null`: the stored targets. */
  readonly translationFile: string | null;
  readonly policy: PublishPolicy;
  /** A localized release with whose texts these are compared; `null` or absent: none. */
  readonly previousReleaseId?: string | null;
  /** The work folder of the task; the caller removes it. */
  readonly workDirectory: string;
}

type RunContext = Pick<TaskContext, 'signal' | 'progress'>;

/** Takes the texts of a localized release as they are now. */
export interface Freezer {
  /**
   * Reads the units of the official release with their targets, in the order of the parse index, and writes the edits of each
   * container to a file. Nothing is refused here for its coverage or its findings: see `requirePublishable`.
   *
   * @throws TaskError `text_not_indexed` and `tasks_not_built`, to be retried, while index and tasks are not those of the release;
   * `file_refused`; those of the exchange folder, of the parse index and of translation.db; the signal's reason
   */
  freeze(request: FreezeRequest, context: RunContext): Promise<FrozenRelease>;
  /** Records the texts of a frozen release under the name of a localized one. Call it before that becomes current. */
  record(frozen: FrozenRelease, localizedReleaseId: string, signal: AbortSignal): Promise<void>;
}

export interface FreezerPorts {
  readonly parse: Pick<Parse, 'unitsAfter' | 'isCurrent'>;
  readonly publishing: Pick<Publishing, 'openFile' | 'freeze' | 'isRecorded' | 'record'>;
  /** Another one for every change of the program that can change the bytes of a patched file. */
  readonly patcherVersion: string;
}

/** Bounds of one page: it passes through the event loop. */
const PAGE = { units: 500, characters: 256 * 1024 };
/** Bounds of one batch of recorded texts. */
const RECORDED = { edits: 500, characters: 256 * 1024 };
/** Runs that begin again because index or tasks changed meanwhile. */
const MAX_RUNS = 3;
/** Outcomes that lose nothing: the text is there, or people have taken it out. */
const NO_LOSS: ReadonlySet<PublishOutcome> = new Set(['published', 'held', 'skipped']);
/** Blocked units that are listed. */
const LISTED_UNITS = 100;

/** Creates the freezer. */
export function createFreezer(ports: FreezerPorts): Freezer {
  return {
    freeze: async (request, context) => {
      for (let run = 1; run <= MAX_RUNS; run += 1) {
        const frozen = await freezeOnce(ports, request, context, join(request.workDirectory, `edits-${run}`));
        if (frozen !== null) return frozen;
      }
      throw new TaskError(
        'tasks_not_built',
        `the translation tasks of ${request.baseReleaseId} are not those of the parse index; try again when task-build has ended`,
        { retryable: true },
      );
    },
    record: async ({ baseReleaseId, containers }, localizedReleaseId, signal) => {
      const paths = new Map(containers.map(({ patchKey, editsPath }) => [patchKey as string, editsPath]));
      const textsOf = async function* textsOf(patchKey: string) {
        for await (const edits of readEdits(paths.get(patchKey) ?? '', RECORDED)) {
          yield edits.map(({ unitId, source, target }) => ({
            unitId: unitIdBytes(unitId) ?? new Uint8Array(),
            source,
            target,
          }));
        }
      };
      await ports.publishing.record({ localizedReleaseId, baseReleaseId }, { containers, textsOf }, signal);
    },
  };
}

/** @returns `null` when index or tasks changed meanwhile */
async function freezeOnce(
  ports: FreezerPorts,
  request: FreezeRequest,
  context: RunContext,
  directory: string,
): Promise<FrozenRelease | null> {
  const { parse, publishing, patcherVersion } = ports;
  const { baseReleaseId, translationFile, previousReleaseId: previous = null } = request;
  if (!(await parse.isCurrent(baseReleaseId))) {
    throw new TaskError(
      'text_not_indexed',
      `the text of ${baseReleaseId} is not indexed with the current rules yet; try again when the parse run has ended`,
      { retryable: true },
    );
  }
  const file = translationFile === null ? null : await publishing.openFile(translationFile, context);
  const spool = createEditSpool(directory, patcherVersion);
  let moment: TargetMoment | null = null;
  try {
    moment = await publishing.freeze(file?.reviewId ?? null, context);
    const pages = createPages(parse, moment, request);
    const read = await collect(pages, request, spool, context);
    if (read === null) return null;
    const { lostUnits, ...texts } = read;
    const isComparable = previous !== null && (await publishing.isRecorded(previous, context.signal));
    return {
      baseReleaseId,
      containers: await spool.end(),
      ...texts,
      lostUnits: isComparable ? lostUnits : null,
      translationFileSha256: file?.sha256 ?? null,
    };
  } finally {
    await moment?.close();
    await spool.close();
    await file?.close();
  }
}

/** A page of units with their targets. Units beyond the globs have none. */
interface TargetPage extends UnitsAfter {
  readonly targets: ReadonlyMap<IndexedUnit, PublishableTarget>;
}

/** @returns a function that gives `null` when index or tasks are not those of the release */
function createPages(
  parse: FreezerPorts['parse'],
  moment: TargetMoment,
  { baseReleaseId, policy, previousReleaseId: previous = null }: FreezeRequest,
): (from: UnitPlace, signal: AbortSignal) => Promise<TargetPage | null> {
  const isSelected = createSelection(policy);
  return async (from, signal) => {
    const page = await parse.unitsAfter({ from, limit: PAGE.units, maxCharacters: PAGE.characters }, signal);
    const { releaseId, generation, previousReleaseId: carriedFrom } = page;
    if (releaseId !== baseReleaseId) return null;
    const wanted = page.items.filter(({ destination }) => isSelected(destination));
    const units = wanted.map(({ unitId, sourceDigest, carriedBy }) => ({
      unitId,
      sourceDigest,
      unchangedFrom: carriedBy === null || carriedBy.tier === 'changed' ? null : carriedBy.unitId,
    }));
    const before = previous === null ? null : { localizedReleaseId: previous, carriedFrom };
    const found = await moment.read({ releaseId, generation, previous: before, units }, signal);
    if (found === null) return null;
    const targets = new Map<IndexedUnit, PublishableTarget>();
    for (const [at, unit] of wanted.entries()) {
      const target = found[at];
      if (target !== undefined) targets.set(unit, target);
    }
    return { ...page, targets };
  };
}

/** Creates the test whether a file is localized. The last answer is kept: units of one file come together. */
function createSelection(policy: PublishPolicy): (destination: string) => boolean {
  const test = createGlobFilter(policy);
  let last = { destination: '', isSelected: false };
  return (destination) => {
    if (test === null) return true;
    if (last.destination !== destination) last = { destination, isSelected: test(destination) };
    return last.isSelected;
  };
}

interface Collected extends Pick<
  FrozenRelease,
  'generation' | 'counts' | 'excludedUnits' | 'destinations' | 'blocked'
> {
  readonly lostUnits: number;
}

async function collect(
  readPage: ReturnType<typeof createPages>,
  { policy }: FreezeRequest,
  spool: EditSpool,
  { signal, progress }: RunContext,
): Promise<Collected | null> {
  const tally = createCoverageTally();
  const blocked: BlockedUnit[] = [];
  let generation: number | null = null;
  let excludedUnits = 0;
  let lostUnits = 0;
  let read = 0;
  let from: UnitPlace | null = { position: 0, ordinal: 0 };
  while (from !== null) {
    const page: TargetPage | null = await readPage(from, signal);
    if (page === null || (generation ?? page.generation) !== page.generation) return null;
    generation = page.generation;
    excludedUnits += page.items.length - page.targets.size;
    lostUnits += await addPage(page, policy, { spool, tally, blocked });
    read += page.items.length;
    progress(read, page.total, 'entries', 'freezing texts');
    from = page.next;
  }
  const { counts, destinations } = tally;
  return { generation: generation ?? 0, counts, excludedUnits, destinations, blocked, lostUnits };
}

/** @returns the units that the previous release has and this one loses, without those that people have taken out */
async function addPage(
  { files, targets }: TargetPage,
  { minState }: PublishPolicy,
  into: { readonly spool: EditSpool; readonly tally: CoverageTally; readonly blocked: BlockedUnit[] },
): Promise<number> {
  let lost = 0;
  for (const [unit, target] of targets) {
    const outcome = publishOutcome(target, minState);
    into.tally.add(unit.destination, outcome);
    if (outcome === 'blocked' && into.blocked.length < LISTED_UNITS)
      into.blocked.push(blockedUnit(unit, target));
    if (target.wasPublished && !NO_LOSS.has(outcome)) lost += 1;
    if (outcome !== 'published' || target.text === null) continue;
    const container = files.find(({ position }) => position === unit.position);
    if (container === undefined)
      throw new Error(`the parse index does not name the file of ${unit.destination}`);
    await into.spool.add(container, {
      unitId: unitIdText(unit.unitId),
      archiveEntry: unit.archiveEntry,
      pathId: unit.pathId,
      fieldPath: unit.fieldPath,
      source: unit.sourceText,
      target: target.text,
    });
  }
  return lost;
}

function blockedUnit(unit: IndexedUnit, target: PublishableTarget): BlockedUnit {
  return {
    destination: unit.destination,
    archiveEntry: unit.archiveEntry,
    unitId: unitIdText(unit.unitId),
    taskId: target.taskId,
    checks: target.blockedBy,
    qaIdentity: target.qaIdentity,
  };
}
