/** Why a file cannot be read. The contract explains each code. */
export type FormatErrorCode =
  | 'bundle_signature_unsupported'
  | 'bundle_encrypted'
  | 'bundle_invalid'
  | 'block_decompress_failed'
  | 'serialized_version_unsupported'
  | 'serialized_invalid'
  | 'typetree_missing'
  | 'typetree_invalid'
  | 'typetree_extracted_unsupported'
  | 'typetree_size_mismatch'
  | 'typetree_managed_reference_unsupported'
  | 'zip_invalid'
  | 'zip_encrypted'
  | 'zip_password_wrong'
  | 'zip_method_unsupported'
  | 'zip_limit_exceeded'
  | 'json_invalid'
  | 'csv_invalid'
  | 'script_invalid'
  | 'xml_invalid'
  | 'po_invalid'
  | 'compression_invalid'
  | 'not_writable'
  | 'sqlite_invalid'
  | 'flatbuffers_invalid'
  | 'schema_invalid'
  | 'encoding_invalid'
  | 'codec_mismatch'
  | 'field_too_large'
  | 'nesting_too_deep'
  | 'container_limit_exceeded'
  | 'duplicate_key'
  | 'memory_exceeded'
  | 'file_unreadable'
  // The readers of files inside of files.
  | 'nesting_unsupported'
  | 'duplicate_unit_key';

/** A file or a part of it cannot be read as its format says. */
export class FormatError extends Error {
  readonly code: FormatErrorCode;
  /** Bytes from the start of the file, entry or object that was read; `null` where no byte is to blame. */
  readonly offset: number | null;

  /** @param message what is wrong, without the offset, which is appended */
  constructor(code: FormatErrorCode, message: string, offset: number | null = null) {
    super(offset === null ? message : `${message} (at byte ${offset})`);
    this.name = 'FormatError';
    this.code = code;
    this.offset = offset;
  }
}

/** The result of a step, or a fallback where it finds that something cannot be read. */
export function readableOr<Fallback, Result>(fallback: Fallback, step: () => Result): Fallback | Result {
  try {
    return step();
  } catch (error) {
    if (error instanceof FormatError) return fallback;
    throw error;
  }
}
