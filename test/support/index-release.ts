import { unitIdOf as parsedUnitId } from '../../src/localization/parse/container/unit-emitter.ts';
import { createHash } from 'node:crypto';
import type { ParsedUnit } from '../../src/localization/parse/container/parsed-container.ts';
import type {
  ContentOutcome,
  FoundError,
  IndexedFile,
  ReleaseFiles,
} from '../../src/localization/parse/index/index-rows.ts';
import { openParseIndex, type ParseIndex } from '../../src/localization/parse/index/parse-index.ts';
import type { ReportedIndex } from '../../src/localization/parse/index/read/reported-index.ts';
import { compareDestinations } from '../../src/domain/release/destination.ts';
import { systemClock, type Clock } from '../../src/platform/process/clock.ts';

/** A run of texts of one file, for tests. */
export interface ModelLeaf {
  readonly archiveEntry?: string | null;
  readonly pathId?: bigint | null;
  readonly classId?: number | null;
  readonly format?: string;
  /** `[key, text]`; the key is the key path and, with a slash before it, the field path. */
  readonly units: readonly (readonly [string, string])[];
}

/** A file of a release, for tests. Files with equal leaves have equal bytes. */
export interface ModelFile {
  readonly destination: string;
  readonly key?: string;
  readonly leaves: readonly ModelLeaf[];
  readonly errors?: readonly FoundError[];
  readonly ambiguity?: string;
}

export const RULES = sha256('rules');

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function unitIdOf(destinationKey: string, keyPath: string): Buffer {
  return Buffer.from(parsedUnitId(destinationKey, keyPath));
}

export function openTestIndex(path = ':memory:', clock: Clock = systemClock): ParseIndex {
  return openParseIndex(path, clock);
}

export function unitsOf({ destination, key, leaves }: ModelFile): ParsedUnit[] {
  return leaves.flatMap(({ archiveEntry = null, pathId = null, classId = null, format = 'json', units }) =>
    units.map(([unitKey, text]) => ({
      archiveEntry,
      pathId,
      classId,
      format,
      fieldPath: `/${unitKey}`,
      keyPath: unitKey,
      unitId: unitIdOf(key ?? destination, unitKey),
      sourceDigest: sha256(text),
      sourceText: text,
      speaker: text.startsWith('「') ? 'アロナ' : null,
      scene: null,
    })),
  );
}

export function releaseOf(
  releaseId: string,
  files: readonly ModelFile[],
  rulesDigest: Buffer = RULES,
): ReleaseFiles {
  return {
    releaseId,
    parserVersion: '1',
    rulesDigest,
    files: files.map((file): IndexedFile => {
      const bytes = JSON.stringify([file.leaves, file.errors], (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      );
      return {
        destination: file.destination,
        destinationKey: file.key ?? file.destination,
        blake3: sha256(bytes),
        rulesDigest,
        ambiguity: file.ambiguity ?? null,
      };
    }),
  };
}

export const PARSED: ContentOutcome = {
  parseStatus: 'parsed',
  format: 'json',
  skipped: { no_source_script: 2 },
  seconds: 0.5,
  bytes: 100,
  isReusable: true,
};

/** Stores the text of one file, in batches of at most `batch` units. */
export function parseFile(
  index: ParseIndex,
  indexId: number,
  position: number,
  file: ModelFile,
  { batch = 3, outcome = PARSED }: { batch?: number; outcome?: ContentOutcome } = {},
): void {
  const contentId = index.start(indexId, position);
  const units = unitsOf(file);
  for (let first = 0; first < units.length; first += batch) {
    index.append(contentId, units.slice(first, first + batch));
  }
  index.append(contentId, [], file.errors);
  index.finish(contentId, outcome);
}

/** Indexes a release as the job does; returns how many files were parsed and copied. */
export function indexRelease(
  index: ParseIndex,
  releaseId: string,
  unordered: readonly ModelFile[],
  rulesDigest: Buffer = RULES,
): { readonly parsed: number; readonly copied: number; readonly reported: ReportedIndex } {
  const files = ordered(unordered);
  const { indexId, toParse, toCopy } = index.begin(releaseOf(releaseId, files, rulesDigest));
  for (const position of toParse) parseFile(index, indexId, position, files[position]!);
  for (const position of toCopy) {
    if (!finishSteps(index.copy(indexId, position))) throw new Error(`nothing to copy for ${position}`);
  }
  return {
    parsed: toParse.length,
    copied: toCopy.length,
    reported: finishSteps(index.complete(indexId)),
  };
}

export function ordered(files: readonly ModelFile[]): ModelFile[] {
  return files.toSorted((left, right) => compareDestinations(left.destination, right.destination));
}

/** Runs a generator to its end and returns its result. */
export function finishSteps<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Every page of the text units, put together. */
export function allUnits(index: ParseIndex): ReturnType<ParseIndex['textUnits']>['items'] {
  const items = [];
  for (let offset = 0; ; offset += 1000) {
    const page = index.textUnits({ offset, limit: 1000 });
    items.push(...page.items);
    if (items.length >= page.total) return items;
  }
}
