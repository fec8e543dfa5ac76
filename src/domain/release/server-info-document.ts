import type { Blake3Hex } from './digest.ts';

/**
 * The server-info document of a release: an object of the store. The attestation names it beside the manifest, so that
 * it can be replaced while the release, its id and its immutable paths stay as they are.
 */
export interface ServerInfoDocument {
  readonly blake3: Blake3Hex;
  readonly size: number;
}

/** Largest server-info document, in bytes. */
export const SERVER_INFO_MAX_BYTES = 4 * 1024 * 1024;

/** The name of the document where damaged entries are named by their destinations. */
export const SERVER_INFO_NAME = '(server-info document)';
