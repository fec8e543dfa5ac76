/**
 * Attestation versions up to `reserved_version` may have been issued, even if the database could not store them. Before
 * this step every version was stored when it was issued.
 */
export const RESERVED_VERSIONS_MIGRATION = `
ALTER TABLE attestation_state ADD COLUMN reserved_version INTEGER NOT NULL DEFAULT 0 CHECK (reserved_version >= 0);
UPDATE attestation_state SET reserved_version = version;
`;
