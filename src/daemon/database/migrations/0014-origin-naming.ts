/**
 * When the origin of an edge last named a release, and with which key, so that each release is served only for so long after that,
 * and a key that is no longer trusted supports none.
 */
export const ORIGIN_NAMING_MIGRATION = `
CREATE TABLE origin_naming (
  channel     TEXT NOT NULL CHECK (channel IN ('official', 'localized')),
  release_id  TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  key_id      TEXT NOT NULL,
  named_at    INTEGER NOT NULL,
  PRIMARY KEY (channel, release_id, snapshot_id, key_id)
) STRICT, WITHOUT ROWID;
`;
