import { stringifyJsonExact } from '../../../../contract/json/json-exact.ts';
import { cutText } from '../../../../domain/text/cut-text.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import type { UnitHistory } from '../../../parse/index/read/unit-translations.ts';
import { entriesOf } from '../store/target-history.ts';
import type { Row } from '../store/target-rows.ts';
import type { Work } from '../store/work.ts';

type HistoryEntry = UnitHistory['items'][number];

/** Most entries of one answer. */
const MAX_ENTRIES = 100;
/** Bytes of JSON after which an answer has no older entries. */
const MAX_BYTES = 512 * 1024;
/** UTF-16 code units of a text; the page itself has the whole newest one. */
const MAX_TEXT = 64 * 1024;

/** Reads the history of one unit: its newest entries, the newest one last. */
export function readHistory(work: Work, unitId: Uint8Array): UnitHistory {
  const items: HistoryEntry[] = [];
  let bytes = 0;
  for (const row of entriesOf(work, unitId)) {
    const entry = entryOf(row);
    bytes += Buffer.byteLength(stringifyJsonExact(entry));
    if (items.length === MAX_ENTRIES || (items.length > 0 && bytes > MAX_BYTES)) {
      return { items: items.toReversed(), is_cut: true };
    }
    items.push(entry);
  }
  return { items: items.toReversed(), is_cut: false };
}

function entryOf(row: Row): HistoryEntry {
  const textOf = (name: string): string | null => row[name] as string | null;
  const target = cutText(String(row['target_text']), MAX_TEXT);
  const source = cutText(String(row['source_text']), MAX_TEXT);
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
