/**
 * The server-info document belongs to a release, but is no longer a part of its manifest, so that it can be replaced.
 * The new columns are the document that the manifest of an older release names: that manifest never changes.
 */
export const SERVER_INFO_MIGRATION = `
ALTER TABLE release ADD COLUMN manifest_server_info_blake3 TEXT;
ALTER TABLE release ADD COLUMN manifest_server_info_size INTEGER;

UPDATE release SET manifest_server_info_blake3 = server_info_blake3, manifest_server_info_size = server_info_size;
`;
