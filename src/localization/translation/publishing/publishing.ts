import { TaskError } from '../../../engine/tasks/task.ts';
import type { RunContext } from '../run-context.ts';
import type { Judging } from '../judge/judging.ts';
import { judgingTaskError } from '../work/translation-failure.ts';
import { requalifyTargets } from '../requalify/requalification.ts';
import {
  SHOWN_DIFFERENCES,
  type DifferencesPage,
  type DifferencesQuery,
  type PublicationDifferences,
  type TextChange,
} from '../work/publication/publication-differences.ts';
import type {
  ComparedPublications,
  NewPublication,
  PublishedContainer,
  PublishedText,
  TakenBack,
} from '../work/publication/publications.ts';
import { TRIAL_PUBLICATION } from '../work/publication/trial-publication.ts';
import type {
  PublishableContainers,
  PublishableContainersQuery,
  PublishableQuery,
  PublishableTarget,
} from '../work/publication/publishable-targets.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import { withImportCopy, type ImportCopy } from '../../../engine/exchange/import-copy.ts';
import { createImportReport, firstIssue } from '../../../engine/exchange/import-report.ts';
import type { UnitsAfterPort } from '../judge/unit-source.ts';
import { judgeReview, type ReviewPorts } from '../review/review-pages.ts';
import { LINE_OUTCOMES, MAX_FILE_BYTES, stageFile, type LineOutcome } from '../review/stage-file.ts';

/** The work on translations as localized releases use it. Every function throws TaskError `translation_unavailable` when translation.db cannot be used. */
export interface Publishing {
  /**
   * Keeps the targets of this moment, after those were judged again that were judged by other rules or another Glossary. Later
   * changes are not seen. The caller closes it.
   *
   * @param reviewId under which the thread has the judged targets of a file; `null`: the stored targets
   * @throws TaskError `targets_not_judged`, to be retried, when stored targets change faster than they can be judged
   */
  freeze(reviewId: string | null, context: RunContext): Promise<TargetMoment>;
  /** Reads a file of targets. @throws as {@link openTargetFile} */
  openFile(file: string, context: RunContext): Promise<TargetFile>;
  /** Whether the texts of a localized release are recorded. */
  isRecorded(localizedReleaseId: string, signal: AbortSignal): Promise<boolean>;
  /** Whether a localized release was recorded on this base with exactly these containers. */
  hasSameContainers(
    publication: NewPublication,
    containers: readonly PublishedContainer[],
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Records the texts of a localized release, before it becomes current. Recording it again replaces the record. */
  record(publication: NewPublication, texts: RecordedTexts, signal: AbortSignal): Promise<void>;
  /**
   * Marks the tasks as published whose texts are those of the current localized release, and no others.
   *
   * @param localizedReleaseId `null`: no localized release is current
   */
  markPublished(localizedReleaseId: string | null): Promise<void>;
  /** The texts that change for readers when one localized release takes the place of another; `null` when the texts of one are not recorded. */
  compare(compared: ComparedPublications, signal: AbortSignal): Promise<PublicationDifferences | null>;
  /**
   * The texts that change for readers when a release with these texts takes the place of a localized one; `null` when the texts of
   * that one are not recorded. They are recorded under a name that no release can have, and only while they are compared.
   *
   * @param from the localized release
   */
  preview(
    from: string,
    baseReleaseId: string,
    texts: RecordedTexts,
    signal: AbortSignal,
  ): Promise<PublicationDifferences | null>;
  /** Puts the units on hold that a rollback takes back. @returns how many */
  hold(taken: TakenBack): Promise<number>;
  /** How many units {@link hold} would put on hold now. */
  countHolds(taken: ComparedPublications, signal: AbortSignal): Promise<number>;
}

/** The targets of one moment. */
export interface TargetMoment {
  /** Reads targets; `null` when the tasks are not those of the release and the generation. */
  read(
    query: Omit<PublishableQuery, 'reviewId'>,
    signal: AbortSignal,
  ): Promise<readonly PublishableTarget[] | null>;
  /** Pages through the containers of the release; `null` as for targets. */
  containers(
    query: Omit<PublishableContainersQuery, 'reviewId'>,
    signal: AbortSignal,
  ): Promise<PublishableContainers | null>;
  close(): Promise<void>;
}

interface RecordedTexts {
  readonly containers: readonly PublishedContainer[];
  /** The texts of a container, in bounded batches. */
  readonly textsOf: (patchKey: string) => AsyncIterable<readonly PublishedText[]>;
}

interface PublishingPorts extends TargetFilePorts {
  readonly thread: TranslationThread;
  readonly judging: Judging;
}

/** Times that targets are judged again because others changed meanwhile. */
const MAX_PASSES = 5;
/** Containers that one call records or compares. */
const BATCH = 200;

/** Creates the port. */
export function createPublishing(ports: PublishingPorts): Publishing {
  const { thread } = ports;
  const guarded = async <T>(signal: AbortSignal | null, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      signal?.throwIfAborted();
      throw judgingTaskError(error);
    }
  };
  return {
    freeze: async (reviewId, context) => {
      const moment = await guarded(context.signal, beginMoment(ports, reviewId === null, context));
      return {
        read: async (query, signal) =>
          await guarded(signal, thread.frozenTargets({ ...query, reviewId, moment }, { signal })),
        containers: async (query, signal) =>
          await guarded(signal, thread.frozenContainers({ ...query, reviewId, moment }, { signal })),
        // When the thread has ended, so has the moment.
        close: async () => {
          await thread.endFreeze(moment).catch(() => undefined);
        },
      };
    },
    openFile: async (file, context) => await guarded(context.signal, openTargetFile(ports, file, context)),
    isRecorded: async (id, signal) => await guarded(signal, thread.hasPublication(id, { signal })),
    hasSameContainers: async (publication, containers, signal) =>
      await guarded(signal, hasSameContainers(thread, publication, containers, signal)),
    record: async (publication, texts, signal) => {
      await guarded(signal, record(thread, publication, texts, signal));
    },
    markPublished: async (localizedReleaseId) => {
      await guarded(null, markAllPublished(thread, localizedReleaseId));
    },
    compare: async (compared, signal) => await guarded(signal, compareTexts(thread, compared, signal)),
    preview: async (from, baseReleaseId, texts, signal) =>
      await guarded(signal, preview(thread, { from, baseReleaseId, texts }, signal)),
    hold: async (taken) => await guarded(null, thread.holdDifferences(taken)),
    countHolds: async (taken, signal) => await guarded(signal, thread.countDifferences(taken, { signal })),
  };
}

async function markAllPublished(thread: TranslationThread, localizedReleaseId: string | null): Promise<void> {
  let afterTask: number | null = -1;
  while (afterTask !== null) afterTask = await thread.markPublished({ localizedReleaseId, afterTask });
}

async function compareTexts(
  thread: TranslationThread,
  compared: ComparedPublications,
  signal: AbortSignal,
): Promise<PublicationDifferences | null> {
  const files = new Map<string, number>();
  const changes: TextChange[] = [];
  let units = 0;
  let place: DifferencesQuery['place'] = null;
  do {
    signal.throwIfAborted();
    const shown = SHOWN_DIFFERENCES - changes.length;
    const query: DifferencesQuery = { ...compared, place, shown };
    const page: DifferencesPage | null = await thread.comparePublications(query, { signal });
    if (page === null) return null;
    units += page.units;
    changes.push(...page.changes);
    for (const { destination, units: count } of page.files) {
      const before = files.get(destination);
      if (before !== undefined || files.size < SHOWN_DIFFERENCES)
        files.set(destination, (before ?? 0) + count);
    }
    place = page.next;
  } while (place !== null);
  return {
    units,
    changes,
    files: Array.from(files, ([destination, count]) => ({ destination, units: count })),
  };
}

async function preview(
  thread: TranslationThread,
  {
    from,
    baseReleaseId,
    texts,
  }: { readonly from: string; readonly baseReleaseId: string; readonly texts: RecordedTexts },
  signal: AbortSignal,
): Promise<PublicationDifferences | null> {
  if (!(await thread.hasPublication(from, { signal }))) return null;
  try {
    await record(thread, { localizedReleaseId: TRIAL_PUBLICATION, baseReleaseId }, texts, signal);
    return await compareTexts(thread, { from, to: TRIAL_PUBLICATION }, signal);
  } finally {
    // The next record deletes what stays when this fails.
    await forgetTrial(thread).catch(() => undefined);
  }
}

/** Without a signal: a trial that was cancelled leaves nothing either. */
async function forgetTrial(thread: TranslationThread): Promise<void> {
  await thread.forgetPublication(TRIAL_PUBLICATION);
  while (await thread.cleanUpPublications(null));
}

/** @returns the number of a moment at which all stored targets are judged, when they must be */
async function beginMoment(
  { thread, judging }: PublishingPorts,
  mustBeJudged: boolean,
  context: RunContext,
): Promise<number> {
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const key = mustBeJudged ? (await judging.judgedBy()).key : null;
    // Without the signal: a moment whose number nobody gets would be kept.
    const moment = await thread.freezeTargets(key);
    if (moment !== null) return moment;
    await requalifyTargets({ thread, judging }, context);
  }
  throw new TaskError(
    'targets_not_judged',
    'stored targets were judged by other rules or another Glossary, and these change faster than they can be judged again; try again',
    { retryable: true },
  );
}

async function hasSameContainers(
  thread: TranslationThread,
  publication: NewPublication,
  containers: readonly PublishedContainer[],
  signal: AbortSignal,
): Promise<boolean> {
  for (let start = 0; ; start += BATCH) {
    const batch = containers.slice(start, start + BATCH);
    const found = await thread.compareContainers({ publication, containers: batch }, { signal });
    if (found?.total !== containers.length || found.same !== batch.length) return false;
    if (batch.length < BATCH) return true;
  }
}

async function record(
  thread: TranslationThread,
  publication: NewPublication,
  { containers, textsOf }: RecordedTexts,
  signal: AbortSignal,
): Promise<void> {
  const publicationId = await thread.beginPublication(publication, { signal });
  for (let start = 0; start < containers.length; start += BATCH) {
    const batch = containers.slice(start, start + BATCH);
    const keys = batch.map(({ patchKey }) => patchKey);
    for (const patchKey of await thread.unknownPatchKeys(keys, { signal })) {
      for await (const texts of textsOf(patchKey)) {
        await thread.addPublishedTexts({ patchKey, texts }, { signal });
      }
    }
    await thread.addPublishedContainers({ publicationId, containers: batch }, { signal });
  }
  while (await thread.cleanUpPublications(null, { signal }));
}

interface TargetFilePorts extends ReviewPorts {
  readonly unitsAfter: UnitsAfterPort;
  readonly exchangeRoot: () => string;
  readonly dataDirectory: string;
}

/** The judged targets of a file. The units do not get them: only a localized release does. */
interface TargetFile {
  /** Under which the thread has them. */
  readonly reviewId: string;
  /** Of the file; lower-case hexadecimal. */
  readonly sha256: string;
  /** Forgets them. */
  close(): Promise<void>;
}

/**
 * Reads a file of translations and judges its targets. Units are found by their id, else by their place, else by their source where
 * it occurs once.
 *
 * @param file below the exchange folder
 * @throws TaskError `file_refused` with the report of its rows; those of the exchange folder, of the parse index and of
 * translation.db; ServiceError of the judge; the signal's reason
 */
async function openTargetFile(
  ports: TargetFilePorts,
  file: string,
  context: RunContext,
): Promise<TargetFile> {
  const source = {
    root: ports.exchangeRoot(),
    privateFolder: ports.dataDirectory,
    file,
    maxBytes: MAX_FILE_BYTES,
    signal: context.signal,
  };
  return await withImportCopy(source, async (copy) => await collect(ports, file, copy, context));
}

async function collect(
  ports: TargetFilePorts,
  file: string,
  copy: ImportCopy,
  context: RunContext,
): Promise<TargetFile> {
  const { thread } = ports;
  const { signal, progress } = context;
  const report = createImportReport<LineOutcome>(LINE_OUTCOMES);
  const { reviewId } = await thread.beginFileReview(null, { signal });
  const close = async (): Promise<void> => {
    await thread.endReview(reviewId).catch(() => undefined);
  };
  try {
    const { units, hasRefused } = await stageFile(ports, context, file, copy, { reviewId, report });
    if (hasRefused) {
      const result = report.result();
      throw new TaskError(
        'file_refused',
        `${file}: rows cannot be used${firstIssue(result)}; correct them. Nothing was changed`,
        { details: { file, sha256: copy.sha256, ...result } },
      );
    }
    await judgeReview(ports, reviewId, signal, (judged) => {
      progress(judged, units, 'units', 'judging targets');
    });
    return { reviewId, sha256: copy.sha256, close };
  } catch (error) {
    await close();
    throw error;
  }
}
