/** How much of a container a parse error costs: a warning costs nothing that was found, an error hides text. */
export type ParseErrorSeverity = 'warning' | 'error';

/** The meaning of a parse error code, and the next step of an operator. */
export interface ParseErrorMeaning {
  readonly severity: ParseErrorSeverity;
  readonly meaning: string;
  readonly nextStep: string;
}

const READ_AGAIN = 'Compare the file with upstream; if it is the same, report the layout with the offset.';
const ADD_A_RULE = 'Add a rule to `parse.rules` that names the format or skips the file.';

/** The error codes of the parse index. */
export const PARSE_ERROR_CODES = {
  bundle_signature_unsupported: error('The bundle has an old or unknown signature.', ADD_A_RULE),
  bundle_encrypted: error('The directory of the bundle is encrypted.', ADD_A_RULE),
  bundle_invalid: error('The header or the directory of the bundle contradicts its bytes.', READ_AGAIN),
  block_decompress_failed: error('A compressed block of the bundle cannot be decompressed.', READ_AGAIN),
  serialized_version_unsupported: error('The serialized file has a version outside 17 to 22.', ADD_A_RULE),
  serialized_invalid: error('The metadata of the serialized file contradicts its bytes.', READ_AGAIN),
  typetree_missing: error(
    'The serialized file has no type trees, and no configured type tree fits the object.',
    'Name a type tree file for this class or script in `parse.rules`.',
  ),
  typetree_invalid: error('A type tree is cyclic, too deep or refers outside of its strings.', READ_AGAIN),
  typetree_extracted_unsupported: error('The type trees are stored outside of the file.', ADD_A_RULE),
  typetree_size_mismatch: error(
    'The type tree does not consume exactly the bytes of the object.',
    READ_AGAIN,
  ),
  typetree_managed_reference_unsupported: error('The object has managed references.', ADD_A_RULE),
  zip_invalid: error('The archive contradicts its own directory.', READ_AGAIN),
  zip_encrypted: error(
    'The archive entry is encrypted, and no rule names its password.',
    'Name the secret that holds the password in the rule of this archive.',
  ),
  zip_password_wrong: error(
    'The configured password does not decrypt the archive entry.',
    'Check the secret that the rule of this archive names.',
  ),
  zip_method_unsupported: error('The archive entry has an unsupported compression method.', ADD_A_RULE),
  zip_limit_exceeded: error(
    'The archive exceeds a limit on entries, sizes or compression ratio.',
    ADD_A_RULE,
  ),
  json_invalid: error('The JSON text has a syntax error.', READ_AGAIN),
  csv_invalid: error('The CSV text has an unclosed quote or a row of another length.', READ_AGAIN),
  sqlite_invalid: error('The SQLite file is damaged, or its schema is not supported.', READ_AGAIN),
  flatbuffers_invalid: error(
    'The FlatBuffers table refers outside of its bytes or contradicts its schema.',
    READ_AGAIN,
  ),
  schema_invalid: error(
    'The configured schema or type tree file cannot be read.',
    'Correct the configured file; `flatc --binary --schema` writes the schema of FlatBuffers.',
  ),
  encoding_invalid: error(
    'The text is not valid in its encoding.',
    'Name the encoding in the rule of this file.',
  ),
  codec_mismatch: error(
    'Decoding the string and encoding it again does not give the same bytes.',
    'Correct the string codec in the rule of this file.',
  ),
  field_too_large: error('A string is longer than the limit.', ADD_A_RULE),
  nesting_too_deep: error('Containers or values are nested deeper than the limit.', ADD_A_RULE),
  container_limit_exceeded: error('The container exceeds a limit on bytes, entries or units.', ADD_A_RULE),
  duplicate_key: warning(
    'An object has the same key twice; only the last value is a text unit.',
    'Ask for a file in which keys are unique.',
  ),
  duplicate_unit_key: warning(
    'Two texts have the same row key, or two names differ only in their hash-like parts; both are identified by their exact place.',
    'Name a row key or a more exact rule if these texts must keep their identity.',
  ),
  deadline_exceeded: error('Parsing the container took longer than the limit.', ADD_A_RULE),
  memory_exceeded: error('Parsing the container needed more memory than the limit.', ADD_A_RULE),
  process_failed: error('The process that parsed the container ended.', 'Read the daemon log at this time.'),
  file_unreadable: error('The file of the release cannot be read.', 'Verify the release, then parse again.'),
} as const satisfies Record<string, ParseErrorMeaning>;

/** One of {@link PARSE_ERROR_CODES}. */
export type ParseErrorCode = keyof typeof PARSE_ERROR_CODES;

function error(meaning: string, nextStep: string): ParseErrorMeaning {
  return { severity: 'error', meaning, nextStep };
}

function warning(meaning: string, nextStep: string): ParseErrorMeaning {
  return { severity: 'warning', meaning, nextStep };
}
