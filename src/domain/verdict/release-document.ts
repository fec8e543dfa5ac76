import type { Blake3Hex } from '../release/digest.ts';
import type { ServerInfoDocument } from '../release/server-info-document.ts';
import type { Evidence } from './evidence.ts';
import { authorizedReleases } from './effective-attestation.ts';

/** The documents of all releases that the attestations authorize, by digest. */
export function wantedDocuments({ newest, effective }: Evidence): ReadonlyMap<Blake3Hex, ServerInfoDocument> {
  const documents = [newest, effective].flatMap((attestation) =>
    attestation === null
      ? []
      : authorizedReleases(attestation.statement).map(({ server_info: document }) => document),
  );
  return new Map(documents.flatMap((document) => (document === null ? [] : [[document.blake3, document]])));
}
