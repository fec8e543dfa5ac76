import { FAILURE_EXAMPLES, type ReleaseFailure } from '../../domain/verdict/attestation.ts';
import type { DamageRecords } from './damage-records.ts';
import type { ReleaseRow } from './release-row.ts';

/**
 * Why a damaged release is withdrawn, for the attestation and for all reports. Damage of the manifest or the record
 * comes first, because without them nothing is known about the entries.
 *
 * @param release one in the state `damaged`
 */
export function failureOf(records: DamageRecords, release: ReleaseRow): ReleaseFailure {
  if (release.damage_reason !== null) {
    return { reason: release.damage_reason, entry_count: 0, examples: [] };
  }
  const { all, missing } = records.damageCounts(release.channel, release.release_id);
  return {
    reason: all > 0 && all === missing ? 'EntryMissing' : 'EntryDamaged',
    entry_count: all,
    ...(missing > 0 && missing < all ? { missing_count: missing } : {}),
    examples: records
      .damageOf(release.channel, release.release_id, FAILURE_EXAMPLES)
      .map(({ destination }) => destination),
  };
}

/** Describes the failure in one clause: the numbers of missing and of damaged files, the release, the first file. */
export function describeFailure(
  { release_id: id, damage_message: message }: ReleaseRow,
  { reason, entry_count: count, missing_count: some = 0, examples }: ReleaseFailure,
): string {
  if (message !== null) return `release ${id} is damaged: ${message}`;
  const missing = reason === 'EntryMissing' ? count : some;
  const files = `${countedKinds(missing, count - missing)} ${count === 1 ? 'file' : 'files'}`;
  return `${files} in release ${id}: ${examples[0] ?? 'unknown'}${count > 1 ? ` and ${count - 1} more` : ''}`;
}

/** Names each kind of damage with its number, such as `1 missing and 2 damaged`. */
export function countedKinds(missing: number, damaged: number): string {
  if (missing === 0) return `${damaged} damaged`;
  return damaged === 0 ? `${missing} missing` : `${missing} missing and ${damaged} damaged`;
}
