import { cutText } from '../../../../domain/text/cut-text.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import { entriesOf } from '../store/target-history.ts';
import { sameBytes, type Row } from '../store/target-rows.ts';
import type { Work } from '../store/work.ts';
import { digestOfTarget, findPublication, type ComparedPublications } from './publications.ts';

interface ReadText {
  /** Whether it is the official one. */
  readonly official: boolean;
  /** `null`: a translation that is not stored as a target, or an official text that no target names. */
  readonly text: string | null;
}

/** A unit whose text readers see change. */
export interface TextChange {
  readonly unit_id: string;
  readonly destination: string;
  readonly source_text: string | null;
  readonly before: ReadText;
  readonly after: ReadText;
}

/** The texts that change for readers when one localized release takes the place of another. */
export interface PublicationDifferences {
  readonly units: number;
  /** The first units, by file. */
  readonly changes: readonly TextChange[];
  readonly files: readonly { readonly destination: string; readonly units: number }[];
}

/** A place in the comparison: the files with a changed text by name, then those with an added one. */
interface ComparedPlace {
  readonly side: 'changed' | 'added';
  /** The last file that was compared. */
  readonly afterDestination: string;
}

/** Asks for a part of the comparison. */
export interface DifferencesQuery extends ComparedPublications {
  /** `null`: the beginning. */
  readonly place: ComparedPlace | null;
  /** Units that the answer shows at most. */
  readonly shown: number;
}

/** The differences of some files, and where the comparison continues; `null` at the end. */
export interface DifferencesPage extends PublicationDifferences {
  readonly next: ComparedPlace | null;
}

/** Units and files that an answer shows. */
export const SHOWN_DIFFERENCES = 100;
/** Files that one call compares, and texts after which it ends: other work of the thread waits meanwhile. */
const PAGE = { files: 200, texts: 5000 };
/** Entries of a history that are searched for the text of a digest. */
const MOST_ENTRIES = 200;
const MAX_TEXT = 2000;

const BEGINNING: ComparedPlace = { side: 'changed', afterDestination: '' };
const NO_PUBLICATION = -1;

/** Files of one release that the other one does not have with the same texts. Containers with one key have the same texts. */
const FILES = `SELECT destination, patch_key FROM publication_container AS container
  WHERE publication_id = :own AND destination > :after AND NOT EXISTS (SELECT 1 FROM publication_container AS other
    WHERE other.patch_key = container.patch_key AND other.publication_id = :other)
  ORDER BY destination LIMIT ${PAGE.files}`;

/** Texts of a file of the release that is left, with those of the other one. */
const CHANGED = `SELECT unit_id, before, after, after IS NOT before AS is_changed FROM (
  SELECT text.unit_id, text.target_digest AS before,
    (SELECT other.target_digest FROM published_text AS other CROSS JOIN publication_container USING (patch_key)
     WHERE other.unit_id = text.unit_id AND publication_id = :other LIMIT 1) AS after
  FROM published_text AS text WHERE patch_key = :patch_key)`;

/** Texts of a file of the other release; changed are those where the one that is left has the official ones. */
const ADDED = `SELECT text.unit_id, NULL AS before, text.target_digest AS after,
    NOT EXISTS (SELECT 1 FROM published_text AS other CROSS JOIN publication_container USING (patch_key)
     WHERE other.unit_id = text.unit_id AND publication_id = :other) AS is_changed
  FROM published_text AS text WHERE patch_key = :patch_key`;

/**
 * Compares a bounded part of the recorded texts of two releases with one base; `null` when the texts of one of them are not
 * recorded.
 */
export function comparePublications(work: Work, query: DifferencesQuery): DifferencesPage | null {
  const { from, to, place, shown } = query;
  const [left, right] = [findPublication(work, from), to === null ? null : findPublication(work, to)];
  if (left === null || (to !== null && right === null)) return null;
  const ids = [left.publicationId, right?.publicationId ?? NO_PUBLICATION] as const;
  const { side, afterDestination } = place ?? BEGINNING;
  const [own, other] = side === 'changed' ? ids : [ids[1], ids[0]];
  const rows = work.sql(FILES).all({ own, other, after: afterDestination });
  const changes: TextChange[] = [];
  const files: { destination: string; units: number }[] = [];
  let texts = 0;
  let last = '';
  for (const file of rows) {
    if (texts >= PAGE.texts) break;
    last = String(file['destination']);
    let units = 0;
    const compared = work.sql(side === 'changed' ? CHANGED : ADDED);
    for (const row of compared.iterate({ patch_key: file['patch_key'] ?? null, other })) {
      texts += 1;
      if (row['is_changed'] !== 1) continue;
      units += 1;
      if (changes.length >= shown) continue;
      const unitId = row['unit_id'] as Uint8Array;
      const digests = [row['before'], row['after']].map((digest) => digest as Uint8Array | null);
      changes.push({ unit_id: unitIdText(unitId), destination: last, ...readTexts(work, unitId, digests) });
    }
    if (units > 0) files.push({ destination: last, units });
  }
  return {
    units: files.reduce((sum, { units }) => sum + units, 0),
    changes,
    files,
    next: nextPlace(rows, side, last),
  };
}

function nextPlace(rows: readonly Row[], side: ComparedPlace['side'], last: string): ComparedPlace | null {
  const isEnd = rows.length < PAGE.files && (rows.at(-1)?.['destination'] ?? '') === last;
  if (!isEnd) return { side, afterDestination: last };
  return side === 'changed' ? { side: 'added', afterDestination: '' } : null;
}

/** Finds the texts of a unit in its history by the recorded digests, before and after. */
function readTexts(
  work: Work,
  unitId: Uint8Array,
  digests: readonly (Uint8Array | null)[],
): { readonly source_text: string | null; readonly before: ReadText; readonly after: ReadText } {
  const found: (string | null)[] = digests.map(() => null);
  let source: string | null = null;
  let left = MOST_ENTRIES;
  for (const row of entriesOf(work, unitId)) {
    const text = String(row['target_text']);
    const digest = digestOfTarget(text);
    const at = digests.findIndex(
      (each, side) => found[side] === null && each !== null && sameBytes(each, digest),
    );
    if (at >= 0) {
      found[at] = cutText(text, MAX_TEXT).text;
      source ??= cutText(String(row['source_text']), MAX_TEXT).text;
    }
    left -= 1;
    if (left === 0 || digests.every((each, side) => each === null || found[side] !== null)) break;
  }
  const read = (side: number): ReadText => {
    const official = (digests[side] ?? null) === null;
    return { official, text: official ? source : (found[side] ?? null) };
  };
  return { source_text: source, before: read(0), after: read(1) };
}
