/**
 * The finder of a damaged entry, and the cause of damage that is not about single entries. Both appear in reports;
 * `verify` found the existing rows of the table.
 */
export const DAMAGE_ORIGIN_MIGRATION = `
ALTER TABLE damaged_entry ADD COLUMN found_by TEXT NOT NULL DEFAULT 'verify'
  CHECK (found_by IN ('server', 'verify', 'refresh', 'repair', 'sync', 'boot'));

ALTER TABLE release ADD COLUMN damage_reason TEXT
  CHECK (damage_reason IN ('SnapshotMissing', 'ManifestDamaged'));

UPDATE release SET damage_reason = 'ManifestDamaged' WHERE damage_message IS NOT NULL;
`;
