/**
 * Releases, the catalogs they were made from, and what is known of the objects of the store.
 *
 * `catalog_entry` is keyed by text in BINARY collation: its order is the byte order of the UTF-8 text, the order of a
 * manifest, so that releases of any size are written, compared and paged without holding them in memory.
 */
export const RELEASES_MIGRATION = `
CREATE TABLE catalog_revision (
  revision_id         INTEGER PRIMARY KEY,
  channel             TEXT NOT NULL CHECK (channel IN ('official', 'localized')),
  upstream_label      TEXT NOT NULL,
  upstream_release_id TEXT NOT NULL,
  fingerprint         TEXT,
  etag                TEXT,
  task_id             TEXT NOT NULL,
  app_version         TEXT,
  server_info         BLOB,
  entry_count         INTEGER NOT NULL DEFAULT 0 CHECK (entry_count >= 0),
  stated_bytes        INTEGER NOT NULL DEFAULT 0 CHECK (stated_bytes >= 0),
  complete            INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
  fetched_at          INTEGER NOT NULL
) STRICT;

CREATE TABLE catalog_entry (
  revision_id   INTEGER NOT NULL REFERENCES catalog_revision (revision_id) ON DELETE CASCADE,
  destination   TEXT NOT NULL COLLATE BINARY,
  folded        TEXT,
  source        TEXT NOT NULL CHECK (source IN ('official', 'localized')),
  media_type    TEXT,
  stated_size   INTEGER CHECK (stated_size >= 0),
  stated_blake3 TEXT,
  stated_sha256 TEXT,
  stated_md5    TEXT,
  stated_crc32  TEXT,
  locator       TEXT NOT NULL,
  blake3        TEXT,
  PRIMARY KEY (revision_id, destination)
) STRICT, WITHOUT ROWID;

CREATE INDEX catalog_entry_by_object ON catalog_entry (blake3, revision_id) WHERE blake3 IS NOT NULL;

CREATE TABLE known_object (
  blake3      TEXT PRIMARY KEY,
  size        INTEGER NOT NULL CHECK (size >= 0),
  crc64       TEXT NOT NULL,
  blocks      TEXT,
  sound       INTEGER NOT NULL DEFAULT 1 CHECK (sound IN (0, 1)),
  verified_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX known_object_damaged ON known_object (blake3) WHERE sound = 0;

CREATE TABLE release (
  channel             TEXT NOT NULL CHECK (channel IN ('official', 'localized')),
  release_id          TEXT NOT NULL,
  upstream_release_id TEXT NOT NULL,
  state               TEXT NOT NULL CHECK (state IN
                        ('staging', 'verified', 'current', 'superseded', 'damaged', 'deleted', 'failed')),
  base_release_id     TEXT,
  revision_id         INTEGER REFERENCES catalog_revision (revision_id),
  content_digest      TEXT,
  snapshot_id         TEXT,
  manifest_sha256     TEXT,
  entry_count         INTEGER NOT NULL DEFAULT 0,
  total_bytes         INTEGER NOT NULL DEFAULT 0,
  app_version         TEXT,
  server_info_blake3  TEXT,
  server_info_size    INTEGER,
  created_at          INTEGER NOT NULL,
  published_at        INTEGER,
  superseded_at       INTEGER,
  verified_at         INTEGER,
  checked_at          INTEGER,
  damaged_at          INTEGER,
  damage_message      TEXT,
  stale_since         INTEGER,
  deleted_at          INTEGER,
  pinned              INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
  PRIMARY KEY (channel, release_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX release_by_name ON release (release_id);
CREATE INDEX release_by_revision ON release (revision_id);

CREATE TABLE current_release (
  channel    TEXT PRIMARY KEY CHECK (channel IN ('official', 'localized')),
  release_id TEXT NOT NULL,
  since      INTEGER NOT NULL,
  FOREIGN KEY (channel, release_id) REFERENCES release (channel, release_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE damaged_entry (
  channel     TEXT NOT NULL,
  release_id  TEXT NOT NULL,
  destination TEXT NOT NULL COLLATE BINARY,
  blake3      TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('missing', 'size_mismatch', 'digest_mismatch', 'unreadable')),
  found_at    INTEGER NOT NULL,
  PRIMARY KEY (channel, release_id, destination),
  FOREIGN KEY (channel, release_id) REFERENCES release (channel, release_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE attestation_state (
  store_id       TEXT PRIMARY KEY,
  version        INTEGER NOT NULL CHECK (version >= 0),
  payload_sha256 TEXT,
  envelope       BLOB,
  issued_at      INTEGER,
  expires_at     INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE upstream_probe (
  upstream_label TEXT PRIMARY KEY,
  ok             INTEGER NOT NULL CHECK (ok IN (0, 1)),
  message        TEXT NOT NULL,
  checked_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;
