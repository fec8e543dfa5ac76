import type { Result } from '../../domain/result.ts';
import {
  decide,
  penalize,
  type MatchDecision,
  type MatchRecord,
  type MemoryMatch,
} from '../../domain/memory/memory-match.ts';
import type { MemoryRecord } from '../../domain/memory/memory-record.ts';
import type { MemoryRefusal } from '../../domain/memory/transitions.ts';
import { systemClock, type Clock } from '../../platform/process/clock.ts';
import type { CallerOf } from '../../platform/threads/caller.ts';
import type { CallContext } from '../../platform/threads/serve.ts';
import type { RecordsSuperseded } from '../text-events.ts';
import { type ConcordanceQuery, searchTexts } from './store/concordance.ts';
import type { OpenMemory } from './store/memory-database.ts';
import { MemoryFiles, type MemoryPaths, MemoryFileError } from './store/memory-files.ts';
import { type MemoryLookup, findMatches, findAllMatches } from './store/memory-lookup.ts';
import {
  type ChangedRecord,
  type ConfirmRequest,
  type RejectRequest,
  type ResolvedConflict,
  type ResolveRequest,
  type ReviseRequest,
  confirmRecord,
  confirmRecords,
  rejectRecord,
  reviseRecord,
  resolveConflict,
} from './store/memory-changes.ts';
import { type ImportBatch, type ImportOutcome, importRecords } from './store/memory-import.ts';
import {
  type HistoryEntry,
  type MemoryConflicts,
  type MemoryCounts,
  type RecordPage,
  type RecordPageQuery,
  recordPage,
  findRecord,
  recordHistory,
  soleTokens,
  countRecords,
  readConflicts,
} from './store/memory-reads.ts';
import {
  type KnownRecord,
  type ProposalOutcome,
  type ProposedRecord,
  proposeRecords,
  knownRecords,
  countUse,
} from './store/memory-writer.ts';
import { createTextIndexing } from './text-indexing.ts';
import { indexTexts, maintainIndexes } from './store/text-index.ts';

export type MemoryThread = CallerOf<MemoryStore>;

interface InFile {
  readonly path: string | null;
}

type Changing<Value> = Result<Value, MemoryRefusal> & { readonly event: RecordsSuperseded | null };

export interface MemoryAnswer<R extends MatchRecord = MatchRecord> {
  readonly decision: MatchDecision | 'none';
  readonly matches: readonly MemoryMatch<R>[];
}

/** Records that one step indexes: it takes some tens of milliseconds. */
const INDEXED_TOGETHER = 500;

/**
 * The Translation Memory, as the thread that owns its main file serves it. Errors have the code of a MemoryFileError where it is
 * one. A `path` names a file relative to the root; `null` is the main one.
 */
export class MemoryStore {
  readonly #files: MemoryFiles;
  readonly #indexing = createTextIndexing(() => this.#indexSome() > 0);

  constructor(paths: MemoryPaths, clock: Clock) {
    this.#files = new MemoryFiles(paths, clock);
    // A process that ended may have left records that are not indexed.
    this.#indexing.changed();
  }

  /** Looks texts up; one answer for each, in their order. @param batch.penalty points that every match of the file loses */
  lookUp({
    path,
    lookups,
    penalty,
  }: InFile & {
    readonly lookups: readonly MemoryLookup[];
    readonly penalty: number;
  }): readonly MemoryAnswer[] {
    return this.#files.read(path, (memory) =>
      findAllMatches(memory, lookups).map((matches) => answerOf(matches, penalty)),
    );
  }

  query({
    path,
    lookup,
    penalty,
  }: InFile & { readonly lookup: MemoryLookup; readonly penalty: number }): MemoryAnswer<MemoryRecord> {
    return this.#files.read(path, (memory) =>
      withRecords(memory, answerOf(findMatches(memory, lookup), penalty)),
    );
  }

  /**
   * Searches one text within sources and targets.
   *
   * @returns with `isTruncated`, whether a search for one or two characters ended before it had read every record
   */
  concordance({ path, query }: InFile & { readonly query: ConcordanceQuery }): MemoryAnswer<MemoryRecord> & {
    readonly isTruncated: boolean;
  } {
    return this.#files.read(path, (memory) => {
      const { matches, isTruncated } = searchTexts(memory, query);
      return { ...withRecords(memory, answerOf(matches, 0)), isTruncated };
    });
  }

  summary({ path }: InFile): MemoryCounts {
    return this.#files.read(path, (memory) => countRecords(memory));
  }

  /** Which value of the main file is damaged; `null` while none was read. */
  damage(): string | null {
    return this.#files.damage();
  }

  conflicts({ path, limit }: InFile & { readonly limit: number }): MemoryConflicts {
    return this.#files.read(path, (memory) => readConflicts(memory, limit));
  }

  record({ path, recordId }: InFile & { readonly recordId: string }): MemoryRecord | null {
    return this.#files.read(path, (memory) => findRecord(memory, recordId));
  }

  history(recordId: string): readonly HistoryEntry[] {
    return this.#files.read(null, (memory) => recordHistory(memory, recordId));
  }

  /** The token that alone wrote and confirmed each record; `null` for a record without one. */
  soleTokens({
    path,
    recordIds,
  }: InFile & { readonly recordIds: readonly string[] }): readonly (string | null)[] {
    return this.#files.read(path, (memory) => soleTokens(memory, recordIds));
  }

  propose({
    proposals,
    at,
  }: {
    readonly proposals: readonly ProposedRecord[];
    readonly at: number;
  }): readonly ProposalOutcome[] {
    this.#indexing.changed();
    return this.#files.write(null, (memory) => proposeRecords(memory, proposals, at));
  }

  /** The records that proposals would not add again; `null` for new ones. */
  known(proposals: readonly ProposedRecord[]): readonly (KnownRecord | null)[] {
    return this.#files.write(null, (memory) => knownRecords(memory, proposals));
  }

  importRecords(batch: ImportBatch): readonly ImportOutcome[] {
    const outcomes = this.#files.write(null, (memory) => importRecords(memory, batch));
    // An import indexes as fast as it writes: its batches are smaller than a step.
    this.#indexSome();
    return outcomes;
  }

  page(query: RecordPageQuery): RecordPage {
    return this.#files.read(null, (memory) => recordPage(memory, query));
  }

  countUse({ recordIds, at }: { readonly recordIds: readonly string[]; readonly at: number }): void {
    this.#files.write(null, (memory) => {
      countUse(memory, recordIds, at);
    });
  }

  confirm(request: InFile & ConfirmRequest): Changing<ChangedRecord> {
    const { path, supersede_record_id: superseded } = request;
    const confirmed = this.#files.write(path, (memory) => confirmRecord(memory, request));
    return { ...confirmed, event: eventOf(path, confirmed, superseded === null ? [] : [superseded]) };
  }

  /** Confirms records of the main file, each on its own merits. */
  confirmAll(requests: readonly ConfirmRequest[]): readonly Result<ChangedRecord, MemoryRefusal>[] {
    return this.#files.write(null, (memory) => confirmRecords(memory, requests));
  }

  reject(request: RejectRequest): Result<ChangedRecord, MemoryRefusal> {
    return this.#files.write(request.path ?? null, (memory) => rejectRecord(memory, request));
  }

  revise(request: InFile & ReviseRequest): Changing<ChangedRecord> {
    const { path, record_id: id, supersede_record_id: named } = request;
    return this.#files.write(path, (memory) => {
      const revised = reviseRecord(memory, request);
      this.#indexing.changed();
      const superseded = [id, ...(named === null ? [] : [named])].filter(
        (each) => findRecord(memory, each)?.state === 'superseded',
      );
      return { ...revised, event: eventOf(path, revised, superseded) };
    });
  }

  resolve(request: InFile & ResolveRequest): Changing<ResolvedConflict> {
    const { path, expected_trusted_record_ids: expected, winner_record_id: winner } = request;
    const resolved = this.#files.write(path, (memory) => resolveConflict(memory, request));
    // Also after a repetition: the daemon may have ended between the first one and its consequences.
    const superseded = expected.filter((id) => id !== winner);
    return { ...resolved, event: eventOf(path, resolved, superseded) };
  }

  /** Runs the upkeep of the main file; other calls are answered meanwhile. Gives the number of steps. */
  maintain(_: null, { isWanted }: CallContext): number {
    const steps = this.#files.write(null, (memory) => maintainIndexes(memory));
    const cancelled = (): MemoryFileError => new MemoryFileError('unavailable', 'the upkeep was cancelled');
    while (this.#indexSome() > 0) if (!isWanted()) throw cancelled();
    let count = 0;
    while (this.#files.write(null, () => steps.next()).done !== true) {
      count += 1;
      if (!isWanted()) throw cancelled();
    }
    return count;
  }

  close(): void {
    this.#indexing.stop();
    this.#files.close();
  }

  #indexSome(): number {
    return this.#files.write(null, (memory) => indexTexts(memory, INDEXED_TOGETHER));
  }
}

export function createStore({
  clock = systemClock,
  ...paths
}: MemoryPaths & { readonly clock?: Clock }): MemoryStore {
  return new MemoryStore(paths, clock);
}

/** Records of the main file that others have replaced; `null` for none. */
function eventOf(
  path: string | null,
  { ok }: Result<unknown, unknown>,
  recordIds: readonly string[],
): RecordsSuperseded | null {
  return ok && path === null && recordIds.length > 0 ? { kind: 'records_superseded', recordIds } : null;
}

function answerOf(matches: readonly MemoryMatch[], penalty: number): MemoryAnswer {
  const lowered = matches.map((match) => penalize(match, 'file', penalty));
  return { decision: decide(lowered), matches: lowered };
}

function withRecords(memory: OpenMemory, { decision, matches }: MemoryAnswer): MemoryAnswer<MemoryRecord> {
  const whole = matches.flatMap((match) => {
    const record = findRecord(memory, match.record.record_id);
    return record === null ? [] : [{ ...match, record }];
  });
  return { decision, matches: whole };
}
