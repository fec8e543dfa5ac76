import { PARSE_ERROR_CODES } from '../../src/contract/reports/parse-error-codes.ts';
import { SKIP_REASONS } from '../../src/localization/parse/container/parsed-container.ts';
import { table } from './markdown.ts';

/** docs/reference/parse-errors.md */
export function renderParseErrors(): string {
  const errors = Object.entries(PARSE_ERROR_CODES).map(([code, { severity, meaning, nextStep }]) => [
    `\`${code}\``,
    severity,
    meaning,
    nextStep,
  ]);
  const reasons = Object.entries(SKIP_REASONS).map(([reason, meaning]) => [`\`${reason}\``, meaning]);
  return `# Errors of parsing

Generated from the code by \`make docs\`; do not edit.

The codes of the report \`parse.errors\`, of \`errors_by_code\` in \`parse.status\`, and of the output of \`slipway parse\`.
An error costs the part that it names, such as an archive entry or an object. A warning costs no text.

${table(['Code', 'Severity', 'Meaning', 'Next step'], errors)}

## Outcomes of containers

${table(
  ['`parse_status`', 'Meaning'],
  [
    ['`parsed`', 'Everything was read. There may be warnings.'],
    ['`partial`', 'Some parts could not be read. The units of the others are in the index.'],
    ['`unsupported`', 'The container has no text, or its format is not known, or a rule skips it.'],
    ['`failed`', 'The container could not be read. None of its units are in the index.'],
  ],
)}

## Skipped strings and files

Other strings and files are counted, not listed: in \`skipped\` of \`parse.status\` and in the output of \`slipway parse\`.

${table(['Reason', 'Meaning'], reasons)}
`;
}
