import { FAILURE_EXAMPLES, type ReleaseFailure } from '../../../domain/verdict/attestation.ts';
import type { DamageRecords } from './damage-records.ts';
import type { ReleaseRow } from './release-row.ts';

/**
 * Why a damaged release is withdrawn, for the attestation and for all reports. Damage of the manifest or the record
 * comes first, because without them nothing is known about the entries.
 *
 * @param release one in the state `damaged`
 */
export function failureOf(
  records: Pick<DamageRecords, 'damageOf' | 'damageCounts'>,
  release: ReleaseRow,
): ReleaseFailure {
  if (release.damage_reason !== null) {
    return { reason: release.damage_reason, entry_count: 0, examples: [] };
  }
  const { all, missing } = records.damageCounts(release.channel, release.release_id);
  return {
    reason: all > 0 && all === missing ? 'EntryMissing' : 'EntryDamaged',
    entry_count: all,
    examples: records
      .damageOf(release.channel, release.release_id, FAILURE_EXAMPLES)
      .map(({ destination }) => destination),
  };
}

/** Describes the failure in one clause: the number of damaged files, the release, and the first of these files. */
export function describeFailure(
  { release_id: id, damage_message: message }: ReleaseRow,
  { reason, entry_count: count, examples }: ReleaseFailure,
): string {
  if (message !== null) return `release ${id} is damaged: ${message}`;
  const files = `${count} ${reason === 'EntryMissing' ? 'missing' : 'damaged'} ${count === 1 ? 'file' : 'files'}`;
  return `${files} in release ${id}: ${examples[0] ?? 'unknown'}${count > 1 ? ` and ${count - 1} more` : ''}`;
}
