/**
 * The newest attestation that this edge accepted of each store of its origin, so that neither a restart nor another address
 * of the origin lets it take a step back.
 */
export const ORIGIN_MIGRATION = `
CREATE TABLE origin_attestation (
  store_id       TEXT PRIMARY KEY,
  version        INTEGER NOT NULL CHECK (version > 0),
  payload_sha256 TEXT NOT NULL,
  issued_at      INTEGER NOT NULL,
  envelope       BLOB NOT NULL,
  cdn_host       TEXT,
  accepted_order INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;
