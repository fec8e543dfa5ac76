import type { DifferencesPage, DifferencesQuery } from './publication-differences.ts';
import type {
  NewPublication,
  PublishedContainer,
  PublishedText,
  SameContainers,
  TakenBack,
} from './publications.ts';
import type { PublishableContainers, PublishableContainersQuery } from './publishable-containers.ts';
import type { PublishableQuery, PublishableTarget } from './publishable-targets.ts';
import type { TranslationWork } from './translation-work.ts';

/** The functions of the thread for localized releases. */
export interface PublicationCalls {
  /**
   * Keeps the targets of this moment for a localized release.
   *
   * @param key by which all of them must have been judged; `null`: by any
   * @returns the number of the moment; `null` when some must be judged again first
   */
  freezeTargets(key: string | null): number | null;
  /** Reads targets of a moment; `null` when its tasks are not those of the release and the generation. */
  frozenTargets(query: PublishableQuery & { readonly moment: number }): readonly PublishableTarget[] | null;
  /** Reads containers of a moment; `null` as for targets. */
  frozenContainers(
    query: PublishableContainersQuery & { readonly moment: number },
  ): PublishableContainers | null;
  /** Forgets the targets of a moment. */
  endFreeze(moment: number): void;
  /** Begins to record the texts of a localized release. @returns its number */
  beginPublication(publication: NewPublication): number;
  hasPublication(localizedReleaseId: string): boolean;
  /** How many of these containers a recorded release has, and how many in all; `null` unless it is recorded on this base. */
  compareContainers(query: {
    readonly publication: NewPublication;
    readonly containers: readonly PublishedContainer[];
  }): SameContainers | null;
  /** The keys of containers whose texts are not recorded yet. */
  unknownPatchKeys(patchKeys: readonly string[]): readonly string[];
  addPublishedTexts(batch: { readonly patchKey: string; readonly texts: readonly PublishedText[] }): void;
  addPublishedContainers(batch: {
    readonly publicationId: number;
    readonly containers: readonly PublishedContainer[];
  }): void;
  /** Deletes a bounded part of the texts that no recorded release has. @returns whether there may be more */
  cleanUpPublications(argument: null): boolean;
  /** Marks a bounded part of the tasks of a release; `null`: no task is published. @returns the task to continue after; `null` at the end */
  markPublished(from: {
    readonly localizedReleaseId: string | null;
    readonly afterTask: number;
  }): number | null;
  /** The texts that change for readers when one localized release takes the place of another; `null` when the texts of one are not recorded. */
  comparePublications(query: DifferencesQuery): DifferencesPage | null;
  /** Puts units on hold after a rollback. @returns how many */
  holdDifferences(taken: TakenBack): number;
  /** Counts the units that a rollback would put on hold. */
  countDifferences(taken: Pick<TakenBack, 'from' | 'to'>): number;
}

/** Creates the functions. @param use opens the database when it is needed */
export function createPublicationCalls(
  use: <T>(call: (work: TranslationWork) => T) => T,
  now: () => number,
): PublicationCalls {
  return {
    freezeTargets: (key) => use(({ frozen }) => frozen.begin(key)),
    frozenTargets: (query) => use(({ frozen }) => frozen.read(query.moment, query)),
    frozenContainers: (query) => use(({ frozen }) => frozen.containers(query.moment, query)),
    endFreeze: (moment) => {
      use(({ frozen }) => {
        frozen.end(moment);
      });
    },
    beginPublication: (publication) => use(({ publications }) => publications.begin(publication, now())),
    hasPublication: (id) => use(({ publications }) => publications.has(id)),
    compareContainers: ({ publication, containers }) =>
      use(({ publications }) => publications.compareContainers(publication, containers)),
    unknownPatchKeys: (keys) => use(({ publications }) => publications.unknownKeys(keys)),
    addPublishedTexts: ({ patchKey, texts }) => {
      use(({ publications }) => {
        publications.addTexts(patchKey, texts);
      });
    },
    addPublishedContainers: ({ publicationId, containers }) => {
      use(({ publications }) => {
        publications.addContainers(publicationId, containers);
      });
    },
    cleanUpPublications: () => use(({ publications }) => publications.cleanUp()),
    markPublished: ({ localizedReleaseId, afterTask }) =>
      use(({ publications }) => publications.markPublished(localizedReleaseId, afterTask, now())),
    comparePublications: (query) => use(({ comparePublications }) => comparePublications(query)),
    holdDifferences: (taken) => use(({ publications }) => publications.holdDifferences(taken, now())),
    countDifferences: (taken) => use(({ publications }) => publications.countDifferences(taken)),
  };
}
