/**
 * Who found a damaged entry, and why a release is damaged where that is not about single entries. Both go into what
 * others are told; `verify` found what was in the table before.
 */
export const DAMAGE_ORIGIN_MIGRATION = `
ALTER TABLE damaged_entry ADD COLUMN found_by TEXT NOT NULL DEFAULT 'verify'
  CHECK (found_by IN ('server', 'verify', 'refresh', 'repair', 'sync', 'boot'));

ALTER TABLE release ADD COLUMN damage_reason TEXT
  CHECK (damage_reason IN ('SnapshotMissing', 'ManifestDamaged'));

UPDATE release SET damage_reason = 'ManifestDamaged' WHERE damage_message IS NOT NULL;
`;
