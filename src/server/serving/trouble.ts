import type { EntryTrouble } from '../../domain/verdict.ts';
import { NO_TROUBLE } from '../../domain/verdict.ts';
import type { ManifestIndex } from '../../snapshot/manifest-index.ts';
import type { DamageRecord } from './damage-book.ts';
import { TROUBLE_EXAMPLES, type BoundSnapshot } from './snapshot-binder.ts';

/** What is wrong with the entries of one snapshot, from the volume and from the damage book. */
export interface SnapshotTrouble {
  readonly missing: EntryTrouble;
  readonly damaged: EntryTrouble;
}

/** How the server-info document, which is no entry, is called among the examples. */
const SERVER_INFO_NAME = '(server-info document)';

/** Whether a snapshot holds these bytes, as an entry or as its server-info document. */
export function holdsDigest(index: ManifestIndex, blake3: DamageRecord['blake3']): boolean {
  return index.header.server_info?.blake3 === blake3 || index.findDigest(blake3).length > 0;
}

/** Counts the troubled entries of a snapshot. The cost grows with the trouble, not with the snapshot. */
export function snapshotTrouble(snapshot: BoundSnapshot, records: Iterable<DamageRecord>): SnapshotTrouble {
  const { index } = snapshot;
  if (index === null) return { missing: NO_TROUBLE, damaged: NO_TROUBLE };
  let missing = snapshot.missingTrouble;
  let damaged = NO_TROUBLE;
  let alreadyMissing: ReadonlySet<number> | null = null;
  for (const record of records) {
    const known = (alreadyMissing ??= new Set(Array.from(snapshot.missing)));
    const positions = Array.from(index.findDigest(record.blake3)).filter((position) => !known.has(position));
    const names = positions.map((position) => index.entry(position).destination as string);
    if (index.header.server_info?.blake3 === record.blake3) names.push(SERVER_INFO_NAME);
    if (record.kind === 'missing') missing = add(missing, names);
    else damaged = add(damaged, names);
  }
  return { missing, damaged };
}

function add(trouble: EntryTrouble, names: readonly string[]): EntryTrouble {
  if (names.length === 0) return trouble;
  return {
    count: trouble.count + names.length,
    examples: [...trouble.examples, ...names].slice(0, TROUBLE_EXAMPLES),
  };
}
