/** How much of a container a parse error costs: a warning costs nothing that was found, an error hides text. */
export type ParseErrorSeverity = 'warning' | 'error';

/** The meaning of a parse error code, and the next step of an operator. */
interface ParseErrorMeaning {
  readonly severity: ParseErrorSeverity;
  readonly meaning: string;
  readonly nextStep: string;
}

const SKIP = 'If players never see it, add a rule with `format: skip` to `parse.rules`.';
const DAMAGED = `If the file is damaged, get it again; in a release, \`slipway ctl run verify\` finds and repairs damage. If it is undamaged, report its layout with the offset in the message. ${SKIP}`;
const LAYOUT = `If the file is of another format, name it in a rule: \`text\` reads any file by lines. ${DAMAGED}`;
const UNSUPPORTED = `Slipway cannot read its text. ${SKIP}`;

/** The error codes of the parse index. */
export const PARSE_ERROR_CODES = {
  bundle_signature_unsupported: error(
    'The bundle is UnityWeb, UnityRaw, UnityArchive or a version of UnityFS other than 6 to 8.',
    UNSUPPORTED,
  ),
  bundle_encrypted: error('The bundle has flags of encryption, which games add to Unity.', UNSUPPORTED),
  bundle_invalid: error('The header or the directory of the bundle contradicts its bytes.', DAMAGED),
  block_decompress_failed: error(
    'A block of the bundle has an unknown compression, or its bytes are damaged.',
    DAMAGED,
  ),
  serialized_version_unsupported: error('The serialized file has a version outside 17 to 22.', UNSUPPORTED),
  serialized_invalid: error('The metadata of the serialized file contradicts its bytes.', DAMAGED),
  typetree_missing: error(
    'The file was built without type trees, so the fields of the object are not known.',
    `Name a JSON file with the type trees of the game's classes as \`parse.typeTrees\`; docs/how-to/write-parse-rules.md says how to make one from the game's assemblies. ${SKIP}`,
  ),
  typetree_invalid: error('A type tree is cyclic, too deep or refers outside of its strings.', DAMAGED),
  typetree_extracted_unsupported: error('The type trees are stored in another file.', UNSUPPORTED),
  typetree_size_mismatch: error(
    'The type tree does not describe exactly the bytes of the object: another build of the class, or damage.',
    `If the rule names \`typeTrees\`, take the trees of this build of the game. ${DAMAGED}`,
  ),
  typetree_managed_reference_unsupported: error(
    'The object has a managed reference (`[SerializeReference]`) to a class that no type tree describes. Everything before it is read if no fields follow the references; otherwise nothing of the object is.',
    `Name a JSON file with the type tree of this class as \`parse.typeTrees\`. ${SKIP}`,
  ),
  zip_invalid: error('The archive is cut or damaged, or contradicts its own directory.', DAMAGED),
  zip_encrypted: error(
    'The archive entry is encrypted, and the rule of the archive names no password for it.',
    'Put the password into a file, name the file in `parse.secrets`, and name the secret as `password` in the rule of the archive, which has no `entry`.',
  ),
  zip_password_wrong: error(
    'The password of the rule does not decrypt the archive entry.',
    'Correct the file of the secret. If entries have different passwords, give `password` a secret for each glob of entries.',
  ),
  zip_method_unsupported: error(
    'The archive entry uses AES, strong encryption, or a compression other than stored and deflate.',
    UNSUPPORTED,
  ),
  zip_limit_exceeded: error(
    'The archive has too many entries, or an entry is too large or expands more than 200 times.',
    `The limits are fixed. ${SKIP}`,
  ),
  json_invalid: error(
    'The JSON has a syntax error, such as a comment or a comma after the last element.',
    `If the file is not JSON, name its format in a rule. ${DAMAGED}`,
  ),
  csv_invalid: error(
    'A quote is not closed, a cell continues after its closing quote, or a row has a different number of cells than the first one.',
    `If the file is not a table, or its columns are separated otherwise, name its format (\`tsv\`, \`text\`) in a rule. ${DAMAGED}`,
  ),
  script_invalid: error('A quote that joins lines is not closed.', LAYOUT),
  xml_invalid: error('The document is not well-formed, or uses entities of its own.', LAYOUT),
  po_invalid: error('A line of the catalog has no keyword with a quoted string.', LAYOUT),
  compression_invalid: error(
    'The compressed file is damaged, has several files in it, or bytes after it.',
    DAMAGED,
  ),
  not_writable: error(
    'The texts can be read, but not replaced: the SQLite table has triggers, which are code of the file.',
    `Nothing can be translated there. ${SKIP}`,
  ),
  sqlite_invalid: error(
    'The SQLite file is damaged or encrypted, or hides the row ids of a table behind columns.',
    DAMAGED,
  ),
  flatbuffers_invalid: error(
    'The table refers outside of its bytes or contradicts its schema: usually the schema of another version, or another table.',
    'Compile the schema of this version of the game, and let the rule match only files of this table.',
  ),
  schema_invalid: error(
    'The file that the rule names as `schema` or `typeTrees` is damaged, or the rule names none.',
    'Write the schema again with `flatc --binary --schema`, or correct the JSON of the type trees; then parse again.',
  ),
  encoding_invalid: error(
    'The text is not valid in its encoding.',
    'Name the encoding in the rule of the file, such as `encoding: cp932` for Shift_JIS of Windows.',
  ),
  codec_mismatch: error(
    'The string cannot be decoded by the `codec` of the rule, or does not come back when it is encoded again.',
    'Check the key, then the order of the steps. If the strings of this table are not encoded, give it a rule without `codec`.',
  ),
  field_too_large: error(
    'A string exceeds 1 MiB, or the path to it 16,384 characters.',
    'The limit is fixed. If the string is a file of its own, name its field in `nested` of the rule; otherwise leave it out with `exclude`.',
  ),
  nesting_too_deep: error(
    'A file is inside more than 4 others, or its objects and arrays have more than 64 levels.',
    `The limits are fixed. ${SKIP}`,
  ),
  nesting_unsupported: error(
    'A field of a text file that is in a field itself holds a file of a binary format, which nothing can write back.',
    `Leave the field out of \`nested\` in the rule. ${SKIP}`,
  ),
  container_limit_exceeded: error(
    'The file, or an array or a table in it, exceeds a limit on bytes, elements, rows or units.',
    `The limits are fixed; docs/reference/parse-formats.md lists them. ${SKIP}`,
  ),
  duplicate_key: warning(
    'An object of the JSON has the same key twice. Only the last value is a text unit.',
    'Nothing, if the file comes like this from upstream: games read the last value too. Otherwise correct the file at its source.',
  ),
  duplicate_unit_key: warning(
    'Two files of the release, an archive or a bundle have the same name without their hashes, or two texts have the same row key or names. Both are identified by their exact place, so their units are new when it changes.',
    'Nothing, if the names do not change from release to release. Otherwise name each of the files with a glob of its own in `parse.stableNames`, or name fields that are unique as `rowKey`.',
  ),
  deadline_exceeded: error(
    'Parsing the container took longer than `parse.timeoutSeconds`.',
    `Raise \`parse.timeoutSeconds\` and run \`slipway ctl parse\`. ${SKIP}`,
  ),
  memory_exceeded: error(
    'Parsing the container needed more memory than `parse.memoryMebibytes`.',
    `Raise \`parse.memoryMebibytes\`, and the memory limit of the daemon's container by as much for each process. ${SKIP}`,
  ),
  process_failed: error(
    'The process that parsed the container ended unexpectedly.',
    'Run `slipway ctl parse` again. If it ends again, see whether the system killed it (`dmesg`), then run `slipway parse` with the file and report its output.',
  ),
  file_unreadable: error(
    'The object of the file is missing on the volume, or the disk does not give its bytes.',
    'Run `slipway ctl run verify`; damage is repaired. Then run `slipway ctl parse`.',
  ),
} as const satisfies Record<string, ParseErrorMeaning>;

export type ParseErrorCode = keyof typeof PARSE_ERROR_CODES;

function error(meaning: string, nextStep: string): ParseErrorMeaning {
  return { severity: 'error', meaning, nextStep };
}

function warning(meaning: string, nextStep: string): ParseErrorMeaning {
  return { severity: 'warning', meaning, nextStep };
}
