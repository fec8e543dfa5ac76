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
import type { CallContext } from '../../platform/threads/thread-protocol.ts';
import type { ConcordanceQuery } from './store/concordance.ts';
import { createMemoryFiles, type MemoryPaths } from './store/memory-files.ts';
import { MemoryFileError } from './store/memory-file-error.ts';
import type { MemoryLookup } from './store/memory-lookup.ts';
import type {
  ChangedRecord,
  ConfirmRequest,
  RejectRequest,
  ResolvedConflict,
  ResolveRequest,
} from './store/memory-changes.ts';
import type { ImportBatch, ImportOutcome } from './store/memory-import.ts';
import type {
  HistoryEntry,
  MemoryConflicts,
  MemoryCounts,
  RecordPage,
  RecordPageQuery,
} from './store/memory-reads.ts';
import type { ReadableStore } from './store/memory-store.ts';
import type { KnownRecord, ProposalOutcome, ProposedRecord } from './store/memory-writer.ts';
import { createTextIndexing } from './text-indexing.ts';

/** A file, relative to the root; `null` for the main one. */
interface InFile {
  readonly path: string | null;
}

/** Texts to look up in one file. */
export interface MemoryBatch extends InFile {
  readonly lookups: readonly MemoryLookup[];
  /** Points that every match of the file loses. */
  readonly penalty: number;
}

/** The answer for one text. */
export interface MemoryAnswer<R extends MatchRecord = MatchRecord> {
  readonly decision: MatchDecision | 'none';
  /** Best first. */
  readonly matches: readonly MemoryMatch<R>[];
}

/** The answer of a concordance. */
export interface ConcordanceReply extends MemoryAnswer<MemoryRecord> {
  /** Whether a search for one or two characters ended before it had read every record. */
  readonly isTruncated: boolean;
}

/** The functions of the thread that owns the Translation Memory. Errors have the code of a MemoryFileError where it is one. */
export interface MemoryCalls {
  /** Looks texts up; one answer for each, in their order. */
  lookUp(batch: MemoryBatch): readonly MemoryAnswer[];
  /** Looks one text up, and reads the whole records of its matches. */
  query(
    query: InFile & { readonly lookup: MemoryLookup; readonly penalty: number },
  ): MemoryAnswer<MemoryRecord>;
  /** Searches one text within sources and targets. */
  concordance(query: InFile & { readonly query: ConcordanceQuery }): ConcordanceReply;
  summary(file: InFile): MemoryCounts;
  conflicts(query: InFile & { readonly limit: number }): MemoryConflicts;
  record(query: InFile & { readonly recordId: string }): MemoryRecord | null;
  history(recordId: string): readonly HistoryEntry[];
  /** The token that alone wrote and confirmed each record; `null` for a record without one. */
  soleTokens(query: InFile & { readonly recordIds: readonly string[] }): readonly (string | null)[];
  propose(batch: {
    readonly proposals: readonly ProposedRecord[];
    readonly at: number;
  }): readonly ProposalOutcome[];
  /** The records that proposals would not add again; `null` for new ones. */
  known(batch: { readonly proposals: readonly ProposedRecord[] }): readonly (KnownRecord | null)[];
  importRecords(batch: ImportBatch): readonly ImportOutcome[];
  page(query: RecordPageQuery): RecordPage;
  countUse(batch: { readonly recordIds: readonly string[]; readonly at: number }): void;
  confirm(request: InFile & ConfirmRequest): Result<ChangedRecord, MemoryRefusal>;
  /** Confirms records of the main file, each on its own merits. */
  confirmAll(batch: {
    readonly requests: readonly ConfirmRequest[];
  }): readonly Result<ChangedRecord, MemoryRefusal>[];
  reject(request: RejectRequest): Result<ChangedRecord, MemoryRefusal>;
  resolve(request: InFile & ResolveRequest): Result<ResolvedConflict, MemoryRefusal>;
  /** Runs the upkeep of the main file; other calls are answered meanwhile. Gives the number of steps. */
  maintain(argument: null, context: CallContext): number;
  close(argument: null): void;
}

/** Records that one step indexes: it takes some tens of milliseconds. */
const INDEXED_TOGETHER = 500;

/** Creates the functions of the thread. */
export function createCalls(paths: MemoryPaths): MemoryCalls {
  const files = createMemoryFiles(paths);
  const indexSome = (): number => files.write(null, (store) => store.indexTexts(INDEXED_TOGETHER));
  const indexing = createTextIndexing(() => indexSome() > 0);
  // A process that ended may have left records that are not indexed.
  indexing.changed();
  return {
    lookUp: ({ path, lookups, penalty }) =>
      files.read(path, (store) => store.findAll(lookups).map((matches) => answerOf(matches, penalty))),
    query: ({ path, lookup, penalty }) =>
      files.read(path, (store) => withRecords(store, answerOf(store.find(lookup), penalty))),
    concordance: ({ path, query }) =>
      files.read(path, (store) => {
        const { matches, isTruncated } = store.search(query);
        return { ...withRecords(store, answerOf(matches, 0)), isTruncated };
      }),
    summary: ({ path }) => files.read(path, (store) => store.counts()),
    conflicts: ({ path, limit }) => files.read(path, (store) => store.conflicts(limit)),
    record: ({ path, recordId }) => files.read(path, (store) => store.record(recordId)),
    history: (recordId) => files.read(null, (store) => store.history(recordId)),
    soleTokens: ({ path, recordIds }) => files.read(path, (store) => store.soleTokens(recordIds)),
    propose: ({ proposals, at }) => {
      indexing.changed();
      return files.write(null, (store) => store.propose(proposals, at));
    },
    known: ({ proposals }) => files.write(null, (store) => store.known(proposals)),
    importRecords: (batch) => {
      const outcomes = files.write(null, (store) => store.importRecords(batch));
      // An import indexes as fast as it writes: its batches are smaller than a step.
      indexSome();
      return outcomes;
    },
    page: (query) => files.read(null, (store) => store.page(query)),
    countUse: ({ recordIds, at }) => {
      files.write(null, (store) => {
        store.countUse(recordIds, at);
      });
    },
    confirm: (request) => files.write(request.path, (store) => store.confirm(request)),
    confirmAll: ({ requests }) => files.write(null, (store) => store.confirmAll(requests)),
    reject: (request) => files.write(null, (store) => store.reject(request)),
    resolve: (request) => files.write(request.path, (store) => store.resolve(request)),
    maintain: (_, { isWanted }) => {
      const steps = files.write(null, (store) => store.maintain());
      const cancelled = (): MemoryFileError => new MemoryFileError('unavailable', 'the upkeep was cancelled');
      while (indexSome() > 0) if (!isWanted()) throw cancelled();
      let count = 0;
      while (files.write(null, () => steps.next()).done !== true) {
        count += 1;
        if (!isWanted()) throw cancelled();
      }
      return count;
    },
    close: () => {
      indexing.stop();
      files.close();
    },
  };
}

function answerOf(matches: readonly MemoryMatch[], penalty: number): MemoryAnswer {
  const lowered = matches.map((match) => penalize(match, 'file', penalty));
  return { decision: decide(lowered), matches: lowered };
}

function withRecords(store: ReadableStore, { decision, matches }: MemoryAnswer): MemoryAnswer<MemoryRecord> {
  const whole = matches.flatMap((match) => {
    const record = store.record(match.record.record_id);
    return record === null ? [] : [{ ...match, record }];
  });
  return { decision, matches: whole };
}
