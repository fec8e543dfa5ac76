import { join } from 'node:path';
import {
  noOutcomes,
  publishOutcome,
  type PublishOutcome,
} from '../../../domain/translation/publish-outcome.ts';
import { cutText } from '../../../domain/text/cut-text.ts';
import { createFileTest } from '../../../platform/config/glob-filter.ts';
import { unitIdBytes, unitIdText } from '../../unit-id-text.ts';
import {
  FIRST_UNIT,
  type IndexedUnit,
  type UnitPlace,
  type UnitsAfter,
  type UnitsAfterQuery,
} from '../../parse/index/read/units-after.ts';
import { TaskError, type TaskContext } from '../../../engine/tasks/task.ts';
import type { Publishing, TargetMoment } from '../../translation/publishing/publishing.ts';
import {
  FIRST_CONTAINER,
  type ContainerPlace,
  type PublishableContainer,
  type PublishableTarget,
  type PublishedBefore,
} from '../../translation/work/publication/publishable-targets.ts';
import type { PublicationDifferences } from '../../translation/work/publication/publication-differences.ts';
import { createEditSpool, readEdits, type EditSpool } from './edit-spool.ts';
import type { BlockedUnit, FrozenRelease, PublishPolicy } from './frozen-release.ts';

export interface FreezeRequest {
  readonly baseReleaseId: string;
  /** A file below the exchange folder with the targets; `null`: the stored targets. */
  readonly translationFile: string | null;
  readonly policy: PublishPolicy;
  /** A localized release with whose texts these are compared; `null` or absent: none. */
  readonly previousReleaseId?: string | null;
  readonly workDirectory: string;
}

export interface Freezer {
  /**
   * Reads the units of those files of the official release that have targets, in the order of the parse index, and writes the edits
   * of each container to a file. Nothing is refused here for its coverage or its findings: see `requirePublishable`.
   *
   * @throws TaskError `text_not_indexed` and `tasks_not_built`, to be retried, while index and tasks are not those of the release;
   * `file_refused`; those of the exchange folder, of the parse index and of translation.db; the signal's reason
   */
  freeze(request: FreezeRequest, context: TaskContext): Promise<FrozenRelease>;
  /** Whether a localized release has exactly these texts, on the same base. */
  isRecordedAs(frozen: FrozenRelease, localizedReleaseId: string, signal: AbortSignal): Promise<boolean>;
  /** The texts that readers of a localized release see change with these; `null` when its texts are not recorded. */
  changesFrom(
    frozen: FrozenRelease,
    localizedReleaseId: string,
    signal: AbortSignal,
  ): Promise<PublicationDifferences | null>;
  /** Records the texts of a frozen release under the name of a localized one. Call it before that becomes current. */
  record(frozen: FrozenRelease, localizedReleaseId: string, signal: AbortSignal): Promise<void>;
}

interface FreezableIndex {
  unitsAfter(query: UnitsAfterQuery, signal: AbortSignal): Promise<UnitsAfter>;
  isCurrent(releaseId: string): Promise<boolean>;
}

/** Bounds of one page: it passes through the event loop. */
const PAGE = { units: 500, characters: 256 * 1024 };
const RECORDED = { edits: 500, characters: 256 * 1024 };
/** Runs that begin again because index or tasks changed meanwhile. */
const MAX_RUNS = 3;
/** Outcomes that lose nothing: the text is there, or people have taken it out. */
const NO_LOSS: ReadonlySet<PublishOutcome> = new Set(['published', 'held', 'skipped']);
const LISTED_UNITS = 100;
/** UTF-16 code units of a source text that names a unit. */
const MAX_TEXT = 200;

export function createFreezer(parse: FreezableIndex, publishing: Publishing): Freezer {
  return {
    freeze: async (request, context) => {
      for (let run = 1; run <= MAX_RUNS; run += 1) {
        const spool = createEditSpool(join(request.workDirectory, `edits-${run}`));
        const frozen = await freezeOnce(parse, publishing, request, spool, context);
        if (frozen !== null) return frozen;
      }
      throw new TaskError(
        'tasks_not_built',
        `the translation tasks of ${request.baseReleaseId} are not those of the parse index; try again when task-build has ended`,
        { retryable: true },
      );
    },
    isRecordedAs: async ({ baseReleaseId, containers }, localizedReleaseId, signal) =>
      await publishing.hasSameContainers({ localizedReleaseId, baseReleaseId }, containers, signal),
    changesFrom: async (frozen, localizedReleaseId, signal) =>
      await publishing.preview(localizedReleaseId, frozen.baseReleaseId, recordedTexts(frozen), signal),
    record: async (frozen, localizedReleaseId, signal) => {
      const publication = { localizedReleaseId, baseReleaseId: frozen.baseReleaseId };
      await publishing.record(publication, recordedTexts(frozen), signal);
    },
  };
}

function recordedTexts({ containers }: FrozenRelease): Parameters<Publishing['record']>[1] {
  const paths = new Map(containers.map(({ patchKey, editsPath }) => [patchKey as string, editsPath]));
  return {
    containers,
    textsOf: async function* textsOf(patchKey: string) {
      for await (const edits of readEdits(paths.get(patchKey) ?? '', RECORDED)) {
        yield edits.map(({ unitId, source, target }) => ({
          unitId: unitIdBytes(unitId) ?? new Uint8Array(),
          source,
          target,
        }));
      }
    },
  };
}

/** @returns `null` when index or tasks changed meanwhile */
async function freezeOnce(
  parse: FreezableIndex,
  publishing: Publishing,
  request: FreezeRequest,
  spool: EditSpool,
  context: TaskContext,
): Promise<FrozenRelease | null> {
  const { baseReleaseId, translationFile, previousReleaseId: previous = null } = request;
  if (!(await parse.isCurrent(baseReleaseId))) {
    throw new TaskError(
      'text_not_indexed',
      `the text of ${baseReleaseId} is not indexed with the current rules yet; try again when the parse run has ended`,
      { retryable: true },
    );
  }
  const file = translationFile === null ? null : await publishing.openFile(translationFile, context);
  let moment: TargetMoment | null = null;
  try {
    moment = await publishing.freeze(file?.reviewId ?? null, context);
    const run = new FreezeRun(parse, moment, request, spool);
    const generation = await run.read(context);
    if (generation === null) return null;
    const { counts, excludedUnits, destinations, blocked } = run;
    const isComparable = previous !== null && (await publishing.isRecorded(previous, context.signal));
    return {
      baseReleaseId,
      generation,
      containers: await spool.end(),
      counts,
      excludedUnits,
      destinations,
      blocked,
      lostUnits: isComparable ? run.lostUnits : null,
      translationFileSha256: file?.sha256 ?? null,
    };
  } finally {
    await moment?.close();
    await spool.close();
    await file?.close();
  }
}

type Outcomes = Record<PublishOutcome, number>;

/** Reads the units of a release with their targets, spools the edits and counts everything. */
class FreezeRun {
  readonly counts: Outcomes = noOutcomes();
  readonly destinations: { readonly destination: string; readonly counts: Outcomes }[] = [];
  readonly blocked: BlockedUnit[] = [];
  excludedUnits = 0;
  /** Units that the previous release has and this one loses, without those that people have taken out. */
  lostUnits = 0;
  #read = 0;
  readonly #parse: FreezableIndex;
  readonly #moment: TargetMoment;
  readonly #request: FreezeRequest;
  readonly #spool: EditSpool;

  constructor(parse: FreezableIndex, moment: TargetMoment, request: FreezeRequest, spool: EditSpool) {
    this.#parse = parse;
    this.#moment = moment;
    this.#request = request;
    this.#spool = spool;
  }

  /** @returns the generation of the index; `null` when index or tasks are not those of the release */
  async read(context: TaskContext): Promise<number | null> {
    const { baseReleaseId: releaseId, policy, previousReleaseId = null } = this.#request;
    const { signal } = context;
    const beginning = { from: FIRST_UNIT, limit: 0, maxCharacters: 0 };
    const index = await this.#parse.unitsAfter(beginning, signal);
    if (index.releaseId !== releaseId) return null;
    const { generation, total, previousReleaseId: carriedFrom } = index;
    const previous =
      previousReleaseId === null ? null : { localizedReleaseId: previousReleaseId, carriedFrom };
    const release = { releaseId, generation, previous };
    const steps = await planFreeze(this.#moment, release, createFileTest(policy), signal);
    if (steps === null) return null;
    for (const step of steps) {
      if (step.kind === 'read') {
        const onPage = (): void => context.progress(this.#read, total, 'units', 'collecting texts');
        if (!(await this.#readUnits(release, step, onPage, signal))) return null;
      } else {
        this.#read += step.units;
        if (step.kind === 'exclude') this.excludedUnits += step.units;
        else this.#countUnread(step);
      }
    }
    return generation;
  }

  /** Reads the units of files with their targets; `false` when index or tasks are not those of the release. */
  async #readUnits(
    release: PlannedRelease,
    { first, last }: { readonly first: string; readonly last: string },
    onPage: () => void,
    signal: AbortSignal,
  ): Promise<boolean> {
    let from: UnitPlace | null = { destination: first, ordinal: 0 };
    while (from !== null) {
      const query: UnitsAfterQuery = {
        from,
        limit: PAGE.units,
        maxCharacters: PAGE.characters,
        lastDestination: last,
      };
      const page = await this.#parse.unitsAfter(query, signal);
      if (page.releaseId !== release.releaseId || page.generation !== release.generation) return false;
      const units = page.items.map(({ unitId, sourceDigest, carriedBy }) => ({
        unitId,
        sourceDigest,
        unchangedFrom: carriedBy === null || carriedBy.tier === 'changed' ? null : carriedBy.unitId,
      }));
      const targets = await this.#moment.read({ ...release, units }, signal);
      if (targets === null) return false;
      await this.#addPage(page, targets);
      this.#read += page.items.length;
      onPage();
      from = page.next;
    }
    return true;
  }

  #countUnread({ destination, containers }: Extract<FreezeStep, { kind: 'count' }>): void {
    for (const { units, isSkipped } of containers) {
      const target = { state: 'untranslated', isHeld: false, isSkipped } as const;
      this.#count(destination, publishOutcome(target, this.#request.policy.minState), units);
    }
  }

  /** The units of one destination come together. */
  #count(destination: string, outcome: PublishOutcome, units: number): void {
    let last = this.destinations.at(-1);
    if (last?.destination !== destination) {
      last = { destination, counts: noOutcomes() };
      this.destinations.push(last);
    }
    last.counts[outcome] += units;
    this.counts[outcome] += units;
  }

  async #addPage({ items, files }: UnitsAfter, targets: readonly PublishableTarget[]): Promise<void> {
    for (const [at, unit] of items.entries()) {
      const target = targets[at];
      if (target === undefined) {
        throw new Error(`no answer about the target of a unit of ${unit.destination}`);
      }
      const outcome = publishOutcome(target, this.#request.policy.minState);
      this.#count(unit.destination, outcome, 1);
      if (outcome === 'blocked' && this.blocked.length < LISTED_UNITS) {
        this.blocked.push(blockedUnit(unit, target));
      }
      if (target.wasPublished && !NO_LOSS.has(outcome)) this.lostUnits += 1;
      if (outcome !== 'published' || target.text === null) continue;
      const container = files.find(({ destination }) => destination === unit.destination);
      if (container === undefined) {
        throw new Error(`the parse index does not name the file of ${unit.destination}`);
      }
      await this.#spool.add(container, {
        unitId: unitIdText(unit.unitId),
        archiveEntry: unit.archiveEntry,
        pathId: unit.pathId,
        fieldPath: unit.fieldPath,
        source: unit.sourceText,
        target: target.text,
      });
    }
  }
}

function blockedUnit(unit: IndexedUnit, target: PublishableTarget): BlockedUnit {
  return {
    destination: unit.destination,
    archive_entry: unit.archiveEntry,
    unit_id: unitIdText(unit.unitId),
    task_id: target.taskId,
    source_text: cutText(unit.sourceText, MAX_TEXT).text,
    codes: target.blockedBy,
    qa_identity: target.qaIdentity,
  };
}

interface PlannedFile {
  readonly destination: string;
  readonly containers: PublishableContainer[];
}

type FreezeStep =
  /** The units of these files must be read, with their targets. */
  | { readonly kind: 'read'; readonly first: string; readonly last: string }
  /** A file without texts: its counts say everything. */
  | {
      readonly kind: 'count';
      readonly destination: string;
      readonly containers: readonly PublishableContainer[];
      readonly units: number;
    }
  /** A file beyond the globs. */
  | { readonly kind: 'exclude'; readonly units: number };

interface PlannedRelease {
  readonly releaseId: string;
  readonly generation: number;
  readonly previous: PublishedBefore | null;
}

/**
 * Plans a freeze: most files of a release have no translation, and reading their units would be most of its time.
 *
 * @returns the steps in the order of the index; `null` when the tasks are not those of the release
 */
async function planFreeze(
  moment: TargetMoment,
  release: PlannedRelease,
  isSelected: (destination: string) => boolean,
  signal: AbortSignal,
): Promise<readonly FreezeStep[] | null> {
  const files: PlannedFile[] = [];
  let after: ContainerPlace | null = FIRST_CONTAINER;
  while (after !== null) {
    const page: Awaited<ReturnType<TargetMoment['containers']>> = await moment.containers(
      { ...release, after },
      signal,
    );
    if (page === null) return null;
    for (const container of page.items) addContainer(files, container);
    after = page.next;
  }
  const steps: FreezeStep[] = [];
  for (const file of files) addStep(steps, file, isSelected(file.destination));
  return steps;
}

function addContainer(files: PlannedFile[], container: PublishableContainer): void {
  const last = files.at(-1);
  if (last?.destination === container.destination) last.containers.push(container);
  else files.push({ destination: container.destination, containers: [container] });
}

/** Files that are read and that are beside each other are read together. */
function addStep(steps: FreezeStep[], { destination, containers }: PlannedFile, isSelected: boolean): void {
  const hasTexts = containers.some((container) => container.hasTexts);
  if (!isSelected || !hasTexts) {
    const units = containers.reduce((sum, container) => sum + container.units, 0);
    steps.push(isSelected ? { kind: 'count', destination, containers, units } : { kind: 'exclude', units });
    return;
  }
  const last = steps.at(-1);
  if (last?.kind === 'read') steps.splice(-1, 1, { ...last, last: destination });
  else steps.push({ kind: 'read', first: destination, last: destination });
}
