import { DIAGNOSTIC_CODES, OVERRIDABLE_CODES } from '../../src/domain/glossary/diagnostic-codes.ts';
import { table } from './markdown.ts';

const code = (text: string): string => `\`${text}\``;

/** The rows of the transitions. */
const TRANSITIONS: readonly (readonly string[])[] = [
  [
    '',
    '`translation-glossary-add`',
    '`draft`',
    'no live term with the same languages, source term, scope and category',
  ],
  ['', '`translation-glossary-add` with `review_status: approved`', '`approved`', '`reviewer`; no conflict'],
  [
    '`draft`, `deprecated`',
    '`translation-glossary-approve`',
    '`approved`',
    '`reviewer`; a recommended translation; no conflict, or `force`',
  ],
  ['`approved`', '`translation-glossary-deprecate`', '`deprecated`', '`reviewer` and `reason`'],
  [
    '`draft`',
    '`translation-glossary-update` with `review_status: rejected`',
    '`rejected`',
    '`reviewer` and `reason`',
  ],
  ['`rejected`', '`translation-glossary-update` with `review_status: draft`', '`draft`', ''],
  [
    '`approved`',
    '`translation-glossary-update` of a field other than `source`',
    '`draft`, or `approved` with `reviewer` and `reason`',
    'no conflict, where it stays approved',
  ],
  ['every other', '`translation-glossary-update`', 'the same', ''],
  ['every', '`translation-glossary-delete`', 'deleted', '`force` for an approved term'],
];

/** docs/reference/glossary.md */
export function renderGlossary(): string {
  const overridable: ReadonlySet<string> = OVERRIDABLE_CODES;
  const codes = Object.entries(DIAGNOSTIC_CODES).map(([name, { severity, meaning, nextStep }]) => [
    code(name),
    overridable.has(name) ? `${severity}, can be overridden` : severity,
    meaning,
    nextStep,
  ]);
  return `# The Glossary

Generated from the code by \`make docs\`; do not edit.

The Glossary says how terms are translated. Its file is \`glossary.db\` in \`data.dir\`. It holds human work, so the daemon
never empties, renames or replaces it. A file that is missing after its first use, damaged, read-only, of a newer daemon or
of another program makes the reads and actions of the Glossary answer 503 and the doctor check \`database.glossary\` fail;
everything else works. Restore the file from a backup while the daemon is stopped. To begin with an empty one, delete
\`.glossary.db.created\`, too.

\`glossary_path\` selects another Glossary below \`glossary.root\`. Such a file is only read. Where there is none of that name, the summary
has \`available: false\`, the other reports answer 400 \`invalid_path\`, and actions \`file_not_found\`.

## States of a term

${table(['From', 'Action', 'To', 'Needs'], TRANSITIONS)}

A reviewer counts only with a token that may review; an edit of an approved term with another token makes a draft.
A conflict is an approved term with the same languages, source term, scope and priority, and another translation. An update
that changes nothing stores nothing. Every other change adds an entry to \`review_history\`, which the database itself keeps
from being changed. The id of a deleted term is not used again.

## How terms are found

- Source terms, aliases and translations are compared folded: NFKC and lower case. Spans are those of the text as it was sent.
- In languages with spaces, a term is found as a whole word. In Chinese, Japanese and the other languages without spaces, only
  a term that begins or ends with a Latin letter, a digit or a katakana needs another kind of character beside it.
  \`scope: {"match": "substring"}\` switches both rules off.
- Terms are not found in placeholders and tags.
- Every other key of \`scope\` must be in the context and match. A value with \`/\` or \`*\` is a glob: \`*\` stands for any
  characters except \`/\`, \`**\` for any, \`?\` for one except \`/\`.
- Where terms overlap, the longest counts, then the higher priority, the scope with more keys, the approved term, the smaller
  id. A deprecated term stands beside the others: its translation is forbidden, unless the approved term at that place has it.

## Diagnosis

An approved term is a \`must\`, a draft with a translation a \`should\`, the translation of a deprecated term is \`forbidden\`. With
\`translated_text\` in the context the translation is checked, too; \`source_language\` and \`target_language\` in it replace the
configured languages. Findings of the severity \`error\` block. The report treats every container as proofread.

${table(['Code', 'Severity', 'Meaning', 'Next step'], codes)}

\`qa_identity\` stands for both texts, the languages, the facts of the context that a matching scope uses, the constraints with
the revisions of their terms, and the findings that can be overridden, whatever their severity is at the moment. It stays the
same until one of these changes. A \`glossary_override\` must name the current one, with a reviewer, a reason and a provenance
that are not blank and a time that is at most 300 seconds ahead.
`;
}
