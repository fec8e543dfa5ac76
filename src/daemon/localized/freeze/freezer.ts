import { join } from 'node:path';
import { publishOutcome, type PublishOutcome } from '../../../domain/translation/publish-outcome.ts';
import { createFileTest } from '../../../platform/config/glob-filter.ts';
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
import { planFreeze, type FreezeStep, type PlannedRelease } from './release-plan.ts';

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
   * Reads the units of those files of the official release that have targets, in the order of the parse index, and writes the edits
   * of each container to a file. Nothing is refused here for its coverage or its findings: see `requirePublishable`.
   *
   * @throws TaskError `text_not_indexed` and `tasks_not_built`, to be retried, while index and tasks are not those of the release;
   * `file_refused`; those of the exchange folder, of the parse index and of translation.db; the signal's reason
   */
  freeze(request: FreezeRequest, context: RunContext): Promise<FrozenRelease>;
  /** Whether a localized release has exactly these texts, on the same base. */
  isRecordedAs(frozen: FrozenRelease, localizedReleaseId: string, signal: AbortSignal): Promise<boolean>;
  /** Records the texts of a frozen release under the name of a localized one. Call it before that becomes current. */
  record(frozen: FrozenRelease, localizedReleaseId: string, signal: AbortSignal): Promise<void>;
}

export interface FreezerPorts {
  readonly parse: Pick<Parse, 'unitsAfter' | 'isCurrent'>;
  readonly publishing: Pick<
    Publishing,
    'openFile' | 'freeze' | 'isRecorded' | 'hasSameContainers' | 'record'
  >;
  /** Another one for every change of the program that can change the bytes of a patched file. */
  readonly patcherVersion: string;
}

const BEGINNING: UnitPlace = { position: 0, ordinal: 0 };
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
    isRecordedAs: async ({ baseReleaseId, containers }, localizedReleaseId, signal) =>
      await ports.publishing.hasSameContainers({ localizedReleaseId, baseReleaseId }, containers, signal),
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
    const read = await collect(parse, moment, { request, spool }, context);
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

/** The files from one position of the index to another. */
interface FileRange {
  readonly first: number;
  readonly last: number;
}

/** A page of units, and their targets. */
interface TargetPage extends UnitsAfter {
  readonly targets: readonly PublishableTarget[];
}

/** Reads the units of files with their targets; ends with `null` when index or tasks are not those of the release. */
async function* readTargets(
  parse: FreezerPorts['parse'],
  moment: TargetMoment,
  release: PlannedRelease,
  { range: { first, last }, signal }: { readonly range: FileRange; readonly signal: AbortSignal },
): AsyncGenerator<TargetPage | null> {
  let from: UnitPlace | null = { position: first, ordinal: 0 };
  while (from !== null) {
    const page = await parse.unitsAfter(
      { from, limit: PAGE.units, maxCharacters: PAGE.characters, lastPosition: last },
      signal,
    );
    const isSame = page.releaseId === release.releaseId && page.generation === release.generation;
    const units = page.items.map(({ unitId, sourceDigest, carriedBy }) => ({
      unitId,
      sourceDigest,
      unchangedFrom: carriedBy === null || carriedBy.tier === 'changed' ? null : carriedBy.unitId,
    }));
    const targets = isSame ? await moment.read({ ...release, units }, signal) : null;
    if (targets === null) {
      yield null;
      return;
    }
    yield { ...page, targets };
    from = page.next;
  }
}

interface Collected extends Pick<
  FrozenRelease,
  'generation' | 'counts' | 'excludedUnits' | 'destinations' | 'blocked'
> {
  readonly lostUnits: number;
}

/** @returns `null` when index or tasks are not those of the release */
async function collect(
  parse: FreezerPorts['parse'],
  moment: TargetMoment,
  { request, spool }: { readonly request: FreezeRequest; readonly spool: EditSpool },
  { signal, progress }: RunContext,
): Promise<Collected | null> {
  const { baseReleaseId: releaseId, policy, previousReleaseId = null } = request;
  const index = await parse.unitsAfter({ from: BEGINNING, limit: 0, maxCharacters: 0 }, signal);
  const { generation, total, previousReleaseId: carriedFrom } = index;
  const previous = previousReleaseId === null ? null : { localizedReleaseId: previousReleaseId, carriedFrom };
  const release = { releaseId, generation, previous };
  const isSelected = createFileTest(policy);
  const steps = index.releaseId === releaseId ? await planFreeze(moment, release, isSelected, signal) : null;
  if (steps === null) return null;
  const tally = createCoverageTally();
  const blocked: BlockedUnit[] = [];
  let excludedUnits = 0;
  let lostUnits = 0;
  let read = 0;
  for (const step of steps) {
    if (step.kind !== 'read') {
      read += step.units;
      if (step.kind === 'exclude') excludedUnits += step.units;
      else addCounts(step, policy, tally);
    } else {
      for await (const page of readTargets(parse, moment, release, { range: step, signal })) {
        if (page === null) return null;
        lostUnits += await addPage(page, policy, { spool, tally, blocked });
        read += page.items.length;
        progress(read, total, 'entries', 'freezing texts');
      }
    }
  }
  const { counts, destinations } = tally;
  return { generation, counts, excludedUnits, destinations, blocked, lostUnits };
}

/** Counts the units of a file that were not read. */
function addCounts(
  { destination, containers }: Extract<FreezeStep, { kind: 'count' }>,
  { minState }: PublishPolicy,
  tally: CoverageTally,
): void {
  for (const { units, isSkipped } of containers) {
    tally.add(
      destination,
      publishOutcome({ state: 'untranslated', isHeld: false, isSkipped }, minState),
      units,
    );
  }
}

/** @returns the units that the previous release has and this one loses, without those that people have taken out */
async function addPage(
  { items, files, targets }: TargetPage,
  { minState }: PublishPolicy,
  into: { readonly spool: EditSpool; readonly tally: CoverageTally; readonly blocked: BlockedUnit[] },
): Promise<number> {
  let lost = 0;
  for (const [at, unit] of items.entries()) {
    const target = targets[at];
    if (target === undefined) throw new Error(`no answer about the target of a unit of ${unit.destination}`);
    const outcome = publishOutcome(target, minState);
    into.tally.add(unit.destination, outcome, 1);
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
