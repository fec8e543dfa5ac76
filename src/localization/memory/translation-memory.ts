import type { Result } from '../../domain/result.ts';
import type { MemoryRecord } from '../../domain/memory/memory-record.ts';
import type { MemoryRefusal } from '../../domain/memory/transitions.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { MemoryAnswer, MemoryThread } from './memory-worker.ts';
import type { ChangedRecord, Confirmation, Rejection } from './store/memory-changes.ts';
import { findsSimilar, type MemoryLookup } from './store/memory-lookup.ts';
import type { HistoryEntry } from './store/memory-reads.ts';
import type { KnownRecord, Proposal, ProposalOutcome } from './store/memory-writer.ts';

/**
 * The Translation Memory for other parts of the daemon. Batches of any size are divided, so that the thread serves other callers
 * between them. Every function throws when the file cannot be used: an Error whose `code` is `unavailable`, `file_not_found` or
 * `invalid_path`, or a ThreadError.
 *
 * Targets are not checked here: a caller that reuses, proposes or confirms a target checks it first.
 */
export interface TranslationMemory {
  /**
   * Looks texts up.
   *
   * @param path another file in `memory.root`; default the main one
   * @returns one answer for each, in their order
   */
  lookUp(
    lookups: readonly MemoryLookup[],
    options?: { readonly path?: string | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<readonly MemoryAnswer[]>;
  /**
   * The token that alone wrote and confirmed each record, for the four-eyes rule.
   *
   * @param path as in {@link lookUp}
   * @returns one for each record, in their order; `null` when there is no such token
   */
  soleTokens(
    recordIds: readonly string[],
    options?: { readonly path?: string | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<readonly (string | null)[]>;
  /** Adds translations as candidates; a known one is not added again. One outcome for each, in their order. */
  propose(proposals: readonly Proposal[]): Promise<readonly ProposalOutcome[]>;
  countUse(recordIds: readonly string[]): Promise<void>;
  confirm(request: Confirmation): Promise<Result<ChangedRecord, MemoryRefusal>>;
  /** Makes records trusted, each on its own merits. One result for each, in their order. */
  confirmAll(requests: readonly Confirmation[]): Promise<readonly Result<ChangedRecord, MemoryRefusal>[]>;
  /** The records that proposals would not add again; `null` for new ones. Changes nothing. */
  known(proposals: readonly Proposal[]): Promise<readonly (KnownRecord | null)[]>;
  reject(request: Rejection): Promise<Result<ChangedRecord, MemoryRefusal>>;
  record(recordId: string): Promise<MemoryRecord | null>;
  /** The changes of a record, the oldest first. */
  history(recordId: string): Promise<readonly HistoryEntry[]>;
}

/** Texts of one call to the thread: it is busy for some milliseconds, with similar texts for some tens. */
const BATCH = { exact: 500, all: 5, writes: 200 };

export function createTranslationMemory({
  thread,
  clock,
  createId,
  penaltyOf,
}: {
  readonly thread: MemoryThread;
  readonly clock: Clock;
  readonly createId: () => string;
  readonly penaltyOf: (path: string | null) => number;
}): TranslationMemory {
  return {
    lookUp: async (lookups, { path = null, signal } = {}) => {
      const penalty = penaltyOf(path);
      const size = lookups.some(findsSimilar) ? BATCH.all : BATCH.exact;
      return await inBatches(lookups, size, (batch) =>
        thread.lookUp({ path, lookups: batch, penalty }, { signal }),
      );
    },
    soleTokens: async (recordIds, { path = null, signal } = {}) =>
      await inBatches(recordIds, BATCH.exact, (batch) =>
        thread.soleTokens({ path, recordIds: batch }, { signal }),
      ),
    propose: async (proposals) =>
      await inBatches(proposals, BATCH.writes, (batch) =>
        thread.propose({
          proposals: batch.map((proposal) => ({ ...proposal, record_id: `tm_${createId()}` })),
          at: unixSeconds(clock),
        }),
      ),
    countUse: async (recordIds) => {
      await inBatches(recordIds, BATCH.writes, async (batch) => {
        await thread.countUse({ recordIds: batch, at: unixSeconds(clock) });
        return [];
      });
    },
    confirm: async (request) => await thread.confirm({ ...request, path: null, at: unixSeconds(clock) }),
    confirmAll: async (requests) =>
      await inBatches(requests, BATCH.writes, (batch) => {
        const at = unixSeconds(clock);
        return thread.confirmAll(batch.map((request) => ({ ...request, at })));
      }),
    known: async (proposals) =>
      await inBatches(proposals, BATCH.writes, (batch) =>
        thread.known(batch.map((proposal) => ({ ...proposal, record_id: '' }))),
      ),
    reject: async (request) => await thread.reject({ ...request, at: unixSeconds(clock) }),
    record: async (recordId) => await thread.record({ path: null, recordId }),
    history: async (recordId) => await thread.history(recordId),
  };
}

async function inBatches<T, R>(
  items: readonly T[],
  size: number,
  run: (batch: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += size) {
    results.push(...(await run(items.slice(start, start + size))));
  }
  return results;
}
