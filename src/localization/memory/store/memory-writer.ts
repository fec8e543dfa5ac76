import type { LanguagePair, MemoryProvenance, MemoryState } from '../../../domain/memory/memory-record.ts';
import { comparedCodePoints } from '../../../domain/memory/normalize-text.ts';
import type { TargetAuthor } from '../../../domain/translation/four-eyes.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import { insertRow } from '../../../engine/database/insert-row.ts';
import type { MainMemory } from './memory-database.ts';
import { prefixOf } from './text-index.ts';
import { identityBytes, sourceKeysOf, targetKeyOf, variantKeysOf, type SourceKeys } from './text-keys.ts';

/** A translation that may become a record. */
export interface Proposal extends LanguagePair {
  readonly source_text: string;
  readonly target_text: string;
  readonly context: Readonly<Record<string, string>>;
  readonly provenance: MemoryProvenance;
  /** The author of the translation; left out when nobody knows it. */
  readonly author?: TargetAuthor;
}

export interface ProposedRecord extends Proposal {
  /** The id of the record if a new one is made: `tm_` and a ULID. */
  readonly record_id: string;
}

export type ProposalOutcome =
  | { readonly outcome: 'added'; readonly record_id: string; readonly state: 'candidate' }
  /** A record with the same identity and target exists; its use was counted. */
  | { readonly outcome: 'known'; readonly record_id: string; readonly state: MemoryState }
  | { readonly outcome: 'refused'; readonly reason: string };

export interface KnownRecord {
  readonly record_id: string;
  readonly state: MemoryState;
}

/** Longest text of a record, in UTF-16 units. */
const LONGEST_TEXT = 65_536;
/** UTF-16 code units of each part of a provenance; that of a name in a request. */
const LONGEST_NAME = 4096;
/** Longest context of a record as JSON, in UTF-16 units. */
const LONGEST_CONTEXT = 65_536;

const COUNT_USE = 'UPDATE record SET use_count = use_count + 1, last_used_at = ? WHERE record_id = ?';

/**
 * Adds translations as candidates, in one transaction. One that exists with the same identity and target is not added again.
 * The transaction need not survive the machine: candidates are copies of targets that are stored elsewhere, and the commit
 * that makes one trusted waits for the disk. The text indexes know the new records later.
 *
 * @param at Unix seconds
 * @param countsUse whether the proposal of a known record is a use of it
 * @returns one outcome for each, in their order
 */
export function proposeRecords(
  memory: MainMemory,
  proposals: readonly ProposedRecord[],
  at: number,
  countsUse = true,
): readonly ProposalOutcome[] {
  return memory.database.transaction(
    () => proposals.map((proposal) => proposeRecord(memory, proposal, at, countsUse)),
    { durable: false },
  );
}

/** The records that {@link proposeRecords} would know; `null` where it would add one. */
export function knownRecords(
  memory: MainMemory,
  proposals: readonly ProposedRecord[],
): readonly (KnownRecord | null)[] {
  return proposals.map((proposal) => {
    if (whyRefused(proposal) !== null) return null;
    const keys = sourceKeysOf(proposal, proposal.source_text, proposal.context);
    return knownOf(memory, keys, ownKeysOf(proposal, keys));
  });
}

export function countUse({ database, sql }: MainMemory, recordIds: readonly string[], at: number): void {
  database.transaction(
    () => {
      for (const id of recordIds) sql(COUNT_USE).run(at, id);
    },
    { durable: false },
  );
}

/** Adds a translation as a candidate; see {@link proposeRecords}. Call it in a transaction. */
export function proposeRecord(
  memory: MainMemory,
  proposal: ProposedRecord,
  at: number,
  countsUse: boolean,
): ProposalOutcome {
  const reason = whyRefused(proposal);
  if (reason !== null) return { outcome: 'refused', reason };
  const keys = sourceKeysOf(proposal, proposal.source_text, proposal.context);
  const own = ownKeysOf(proposal, keys);
  const known = knownOf(memory, keys, own);
  if (known !== null) {
    if (countsUse) memory.sql(COUNT_USE).run(at, known.record_id);
    return { outcome: 'known', ...known };
  }
  insertRecord(memory, proposal, keys, own, at);
  return { outcome: 'added', record_id: proposal.record_id, state: 'candidate' };
}

function knownOf(
  { sql }: MainMemory,
  { sourceKey, contextKey }: SourceKeys,
  { identity, targetKey, target }: OwnKeys,
): KnownRecord | null {
  const rows = sql(
    `SELECT record_id, state, target_text FROM record
     WHERE source_key = ? AND state IN ('candidate', 'trusted', 'superseded', 'rejected') AND context_key = ?
       AND identity = ? AND target_key = ?`,
  ).all(sourceKey, contextKey, identity, targetKey);
  const row = rows.find((each) => normalText(each['target_text'] as string) === target);
  if (row === undefined) return null;
  return { record_id: row['record_id'] as string, state: row['state'] as MemoryState };
}

interface OwnKeys {
  readonly identity: Uint8Array;
  readonly target: string;
  readonly targetKey: number;
}

function ownKeysOf(proposal: ProposedRecord, keys: SourceKeys): OwnKeys {
  const target = normalText(proposal.target_text);
  return { identity: identityBytes(proposal, keys), target, targetKey: targetKeyOf(target) };
}

function insertRecord(
  memory: MainMemory,
  record: ProposedRecord,
  { normalized, sourceKey, contextKey }: SourceKeys,
  own: OwnKeys,
  at: number,
): void {
  const { provenance } = record;
  const pairId = pairIdOf(memory, record);
  addToTally(memory, pairId, 'candidate', 1);
  const { widthKey, numbersKey } = variantKeysOf(record, normalized);
  insertRow(memory, 'record', {
    record_id: record.record_id,
    pair_id: pairId,
    state: 'candidate',
    length: comparedCodePoints(normalized).length,
    source_key: sourceKey,
    width_key: widthKey,
    numbers_key: numbersKey,
    target_key: own.targetKey,
    identity: own.identity,
    context_key: contextKey,
    source_text: normalized,
    target_text: record.target_text,
    source_prefix: prefixOf(normalized),
    target_prefix: prefixOf(own.target),
    context: JSON.stringify(record.context),
    origin: provenance.origin,
    provider: provenance.provider,
    provider_run_id: provenance.provider_run_id,
    task_id: provenance.task_id,
    unit_id: provenance.unit_id,
    release_id: provenance.release_id,
    author_kind: record.author?.kind ?? null,
    author_token_id: record.author?.tokenId ?? null,
    created_at: at,
  });
}

/** Refuses texts that are empty or too long, and those that SQLite would not return unchanged. */
function whyRefused({ source_text, target_text, context, provenance }: ProposedRecord): string | null {
  for (const [name, text] of Object.entries({ source_text, target_text })) {
    if (text === '') return `${name} is empty`;
    if (text.length > LONGEST_TEXT) return `${name} has more than ${LONGEST_TEXT} characters`;
    if (!text.isWellFormed()) return `${name} has half of a surrogate pair`;
    if (text.includes('\0')) return `${name} has a NUL character`;
  }
  for (const [name, text] of Object.entries(provenance)) {
    if (text === null || text.length <= LONGEST_NAME) continue;
    return `${name} has more than ${LONGEST_NAME} characters`;
  }
  const json = JSON.stringify(context);
  return json.length > LONGEST_CONTEXT ? `the context has more than ${LONGEST_CONTEXT} characters` : null;
}

/** Adds to the number of records; negative to take away. Call it in the transaction that changes the records. */
export function addToTally({ sql }: MainMemory, pairId: number, state: MemoryState, records: number): void {
  sql(
    `INSERT INTO tally (pair_id, state, records) VALUES (?, ?, ?)
     ON CONFLICT (pair_id, state) DO UPDATE SET records = records + excluded.records`,
  ).run(pairId, state, records);
}

/** The id of a pair of languages, which is made when it is new. Call it in a transaction. */
export function pairIdOf({ sql }: MainMemory, { source_language, target_language }: LanguagePair): number {
  const select = sql('SELECT pair_id FROM pair WHERE source_language = ? AND target_language = ?');
  const found = select.get(source_language, target_language);
  if (found !== undefined) return Number(found['pair_id']);
  const insert = sql('INSERT INTO pair (source_language, target_language) VALUES (?, ?)');
  return Number(insert.run(source_language, target_language).lastInsertRowid);
}
