import { stringifyJsonExact } from '../../../../contract/json/json-exact.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { unitIdBytes, unitIdText } from '../../../unit-id-text.ts';
import type {
  FoundTranslations,
  TranslationsRequest,
  UnitHistory,
  UnitTranslation,
} from '../../../parse/index/read/unit-translations.ts';
import { CHUNK_UNITS } from '../store/task-counts.ts';
import { currentBuild } from '../store/builds.ts';
import { sameBytes, type Row, type StoredTarget } from '../store/target-rows.ts';
import { getTarget } from '../store/target-store.ts';
import { claimOn } from '../store/withheld-units.ts';
import type { Work } from '../store/work.ts';
import { targetDigest } from '../store/accepted-findings.ts';
import { entriesOf } from '../store/target-history.ts';

/** UTF-16 code units of a text in a report, as for source texts. */
const MAX_TEXT = 256 * 1024;

const PLACE = `SELECT task_id, iif(made_in >= release_since, tier, 'same') AS shown_tier, chunk.lease_owner, chunk.lease_expires_at
  FROM task_unit JOIN task USING (task_seq) JOIN build USING (build_id) LEFT JOIN chunk ON chunk.task_seq = task_unit.task_seq
  AND chunk.number = task_unit.number / ${CHUNK_UNITS} AND chunk.state = 'leased' AND chunk.lease_expires_at > :now
  WHERE unit_id = :unit_id AND build_id = :build_id`;

/** Reads the translations of the units of a page. A unit id that is not one has no translation. */
export function translations(work: Work, request: TranslationsRequest): FoundTranslations {
  const { units, withHistory, maxBytes } = request;
  const buildId = currentBuild(work, request);
  const items: UnitTranslation[] = [];
  let bytes = 0;
  for (const { unitId: text, sourceDigest } of units) {
    const unitId = unitIdBytes(text) ?? new Uint8Array();
    const item = translationOf(work, buildId, unitId, Buffer.from(sourceDigest, 'hex'));
    bytes += Buffer.byteLength(stringifyJsonExact(item));
    if (items.length > 0 && bytes > maxBytes) break;
    items.push(item);
  }
  const first = withHistory ? unitIdBytes(units[0]?.unitId ?? '') : null;
  return {
    targetLanguage: work.targetLanguage,
    isBuilt: buildId !== null,
    items,
    history: first === null ? null : readHistory(work, first),
  };
}

/** @param sourceDigest of the text that the page shows */
function translationOf(
  work: Work,
  buildId: number | null,
  unitId: Uint8Array,
  sourceDigest: Uint8Array,
): UnitTranslation {
  const place =
    buildId === null
      ? undefined
      : work.sql(PLACE).get({ unit_id: unitId, build_id: buildId, now: work.now() });
  const target = getTarget(work, unitId);
  const leaseOwner = place?.['lease_owner'] ?? null;
  return {
    task_id: (place?.['task_id'] ?? null) as string | null,
    carried_by: (place?.['shown_tier'] ?? null) as UnitTranslation['carried_by'],
    ...textFields(target, sourceDigest),
    ...(target === null ? NO_TARGET : targetFields(work, target)),
    hold: holdOn(work, unitId),
    claim: claimOn(work, unitId) ?? null,
    lease:
      typeof leaseOwner === 'string'
        ? { owner: leaseOwner, expires_at: Number(place?.['lease_expires_at']) }
        : null,
  };
}

const NO_TARGET = {
  revision: 0,
  author: null,
  findings: [],
  qa_identity: null,
  glossary_override: null,
  waivers: [],
  returned: null,
  propagated_from: null,
  updated_at: null,
};

/** A target for another text is stale, also before the tasks of the release are built. */
function textFields(target: StoredTarget | null, sourceDigest: Uint8Array) {
  const none = { target_text: null, previous_source: null, previous_target: null, is_cut: false };
  if (target === null) return { state: 'untranslated' as const, ...none };
  const text = cutText(target.text, MAX_TEXT);
  const isStale = target.state === 'stale' || !sameBytes(target.sourceDigest, sourceDigest);
  if (!isStale) return { ...none, state: target.state, target_text: text.text, is_cut: text.isCut };
  const source = cutText(target.sourceText, MAX_TEXT);
  return {
    state: 'stale' as const,
    target_text: null,
    previous_source: source.text,
    previous_target: text.text,
    is_cut: text.isCut || source.isCut,
  };
}

function targetFields(work: Work, target: StoredTarget) {
  const { authorKind, tokenId, provider, providerRunId, propagatedFrom } = target;
  return {
    revision: target.revision,
    author: { kind: authorKind, token_id: tokenId, provider, provider_run_id: providerRunId },
    findings: [...target.findings],
    qa_identity: target.qaIdentity,
    glossary_override: overrideOf(work, target),
    waivers: waiversOf(work, target),
    returned: returnOf(work, target),
    propagated_from: propagatedFrom === null ? null : unitIdText(propagatedFrom),
    updated_at: target.updatedAt,
  };
}

const HOLD = 'SELECT reviewer, reason, at FROM hold WHERE unit_id = ? AND target_language = ?';
const OVERRIDE = `SELECT reviewer, reason, provenance, confirmed_at FROM glossary_override
  WHERE qa_identity = ? ORDER BY entry DESC LIMIT 1`;
const WAIVERS = `SELECT check_name, reviewer, reason, token_id, at FROM waiver WHERE unit_id = ?
  AND target_language = ? AND source_digest = ? AND target_digest = ? ORDER BY check_name`;
// Only a review records the token of a reviewer.
const RETURN = `SELECT h.reviewer, h.reason, h.at FROM target
  JOIN target_history h ON h.entry = target.entry
  WHERE target.unit_id = ? AND target.target_language = ? AND h.reviewer_token_id IS NOT NULL`;

/** The person who holds a unit; `null` when nobody does. */
function holdOn(work: Work, unitId: Uint8Array): UnitTranslation['hold'] {
  return decisionOf(work.sql(HOLD).get(unitId, work.targetLanguage));
}

/** The newest override for the Glossary diagnosis of a target. */
function overrideOf(work: Work, { qaIdentity }: StoredTarget): UnitTranslation['glossary_override'] {
  const row = qaIdentity === null ? undefined : work.sql(OVERRIDE).get(qaIdentity);
  if (row === undefined) return null;
  return {
    reviewer: String(row['reviewer']),
    reason: String(row['reason']),
    provenance: String(row['provenance']),
    confirmed_at: Number(row['confirmed_at']),
  };
}

/** The accepted findings of exactly this source and target. */
function waiversOf(work: Work, target: StoredTarget): UnitTranslation['waivers'] {
  const { unitId, findings, sourceDigest, text } = target;
  if (findings.length === 0) return [];
  return work
    .sql(WAIVERS)
    .all(unitId, work.targetLanguage, sourceDigest, targetDigest(text))
    .map((row) => ({
      check: String(row['check_name']),
      reviewer: String(row['reviewer']),
      reason: String(row['reason']),
      token_id: row['token_id'] as string | null,
      at: Number(row['at']),
    }));
}

/** The review that returned a target as it is now. */
function returnOf(work: Work, { unitId, state }: StoredTarget): UnitTranslation['returned'] {
  const canBeReturned = state === 'draft' || state === 'blocked';
  return canBeReturned ? decisionOf(work.sql(RETURN).get(unitId, work.targetLanguage)) : null;
}

function decisionOf(row: Row | undefined): UnitTranslation['hold'] {
  if (row === undefined) return null;
  return {
    reviewer: row['reviewer'] as string | null,
    reason: row['reason'] as string | null,
    at: Number(row['at']),
  };
}

type HistoryEntry = UnitHistory['items'][number];

const HISTORY_ENTRIES_MAX = 100;
/** Bytes of JSON after which an answer has no older entries. */
const HISTORY_BYTES_MAX = 512 * 1024;
/** UTF-16 code units of a text; the page itself has the whole newest one. */
const HISTORY_TEXT_MAX = 64 * 1024;

/** Reads the history of one unit: its newest entries, the newest one last. */
function readHistory(work: Work, unitId: Uint8Array): UnitHistory {
  const items: HistoryEntry[] = [];
  let bytes = 0;
  for (const row of entriesOf(work, unitId)) {
    const entry = entryOf(row);
    bytes += Buffer.byteLength(stringifyJsonExact(entry));
    if (items.length === HISTORY_ENTRIES_MAX || (items.length > 0 && bytes > HISTORY_BYTES_MAX)) {
      return { items: items.toReversed(), is_cut: true };
    }
    items.push(entry);
  }
  return { items: items.toReversed(), is_cut: false };
}

function entryOf(row: Row): HistoryEntry {
  const textOf = (name: string): string | null => row[name] as string | null;
  const target = cutText(String(row['target_text']), HISTORY_TEXT_MAX);
  const source = cutText(String(row['source_text']), HISTORY_TEXT_MAX);
  const propagatedFrom = row['propagated_from'] as Uint8Array | null;
  return {
    revision: Number(row['revision']),
    target_text: target.text,
    source_text: source.text,
    is_cut: target.isCut || source.isCut,
    state: row['state'] as HistoryEntry['state'],
    author: {
      kind: row['author_kind'] as HistoryEntry['author']['kind'],
      token_id: textOf('token_id'),
      provider: textOf('provider'),
      provider_run_id: textOf('provider_run_id'),
    },
    reviewer: textOf('reviewer'),
    reviewer_token_id: textOf('reviewer_token_id'),
    reason: textOf('reason'),
    model: textOf('model'),
    prompt_digest: textOf('prompt_digest'),
    glossary_generation: row['glossary_generation'] as number | null,
    task_id: textOf('task_id'),
    release_id: textOf('release_id'),
    propagated_from: propagatedFrom === null ? null : unitIdText(propagatedFrom),
    at: Number(row['at']),
  };
}
