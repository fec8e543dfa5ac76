const MIRROR_ERROR_CODES = {
  origin_untrusted: 'The attestation of the origin is malformed, or no trusted key signed it.',
  origin_rolled_back: 'The origin shows an older attestation than one that was accepted before.',
  origin_forked: 'The origin signed two different attestations with one version.',
  origin_expired: 'The attestation of the origin is no longer valid.',
  origin_in_future: 'The attestation of the origin is dated in the future; a clock is wrong.',
  origin_unattested: 'The origin has no attestation yet.',
  origin_not_distributable: 'The origin cannot give the release now.',
  origin_pages_mixed: 'The pages of the manifest are of different releases or leave entries out.',
  origin_manifest_differs: 'The manifest rebuilt from the pages does not have the signed digest.',
  origin_document_differs: 'The server-info document does not have the signed digest.',
  origin_malformed: 'An answer of the origin is not what its interface says.',
} as const;

export type MirrorErrorCode = keyof typeof MIRROR_ERROR_CODES;

/** A source that gave something that must not be used, or nothing. */
export class MirrorError extends Error {
  readonly code: MirrorErrorCode;
  /** Whether the same question can get a good answer later. */
  readonly retryable: boolean;

  constructor(code: MirrorErrorCode, message: string, options: { readonly retryable?: boolean } = {}) {
    super(message);
    this.name = 'MirrorError';
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
