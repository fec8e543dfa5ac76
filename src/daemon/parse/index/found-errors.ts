import { PARSE_ERROR_CODES, type ParseErrorCode } from '../../../contract/reports/parse-error-codes.ts';

/** The code of a warning that belongs to a file of a release, not to its content. */
const AMBIGUITY_CODE = 'duplicate_unit_key' satisfies ParseErrorCode;

/**
 * All errors and warnings, of contents and of the names of files, as a table for FROM. Numbers give their order within a file.
 */
export const FOUND_ERRORS = `(
  SELECT index_id, position, number, destination, parse_status, archive_entry, path_id, class_id, parse_error.format, field_path,
    code, message, severity, first_seen
  FROM container JOIN content USING (content_id) JOIN parse_error USING (content_id)
  UNION ALL
  SELECT index_id, position, errors + warnings, destination, parse_status, NULL, NULL, NULL, coalesce(format, 'unknown'), NULL,
    '${AMBIGUITY_CODE}', ambiguity, '${PARSE_ERROR_CODES[AMBIGUITY_CODE].severity}', ambiguous_since
  FROM container JOIN content USING (content_id) WHERE ambiguity IS NOT NULL
) AS found`;
