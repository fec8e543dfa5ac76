import { CHECKS } from '../../src/domain/text/checks/check-table.ts';
import { table } from './markdown.ts';

/** docs/reference/translation-checks.md */
export function renderTranslationChecks(): string {
  const checks = Object.entries(CHECKS).map(
    ([name, { severity, waivable, applies, description, nextStep }]) => [
      `\`${name}\``,
      severity,
      waivable ? 'yes' : 'no',
      applies,
      description,
      nextStep,
    ],
  );
  return `# Checks of translations

Generated from the code by \`make docs\`; do not edit.

Each target is checked against its source and the constraints of its field. An error blocks the target. A reviewer can
waive a finding of some checks, with a reason; the waiver ends when the source or the target changes. The checks of the
Glossary are not on this page.

${table(['Check', 'Severity', 'Can be waived', 'Applies when', 'Meaning', 'Next step'], checks)}
`;
}
