import { checkTarget } from '../../../domain/text/checks/check-target.ts';
import { findInconsistentTargets } from '../../../domain/text/checks/find-inconsistent-targets.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import type { UnitLanguages } from '../../../exchange/units/unit-record.ts';
import type { FileUnit } from './match-units.ts';

/** A finding on a unit of a file. */
export interface FileFinding {
  /** From 1. */
  readonly line: number;
  readonly unit_id: string | null;
  readonly check: string;
  readonly severity: string;
  readonly message: string;
}

/**
 * Checks the targets of a file against their sources, as the daemon does, without the limits of their fields and the Glossary, which
 * only the daemon knows. Targets of sources that differ only in line ends or composed characters are compared here, too; the daemon
 * compares the targets of sources with the same bytes.
 *
 * @returns the findings in the order of the lines
 */
export function checkUnits(units: readonly FileUnit[], languages: UnitLanguages): FileFinding[] {
  const translated = units.flatMap((each) => {
    const target = each.unit.target_text ?? '';
    return target === '' ? [] : [{ each, source: each.unit.source_text, target }];
  });
  const findings = translated.flatMap(({ each, source, target }) =>
    checkTarget({ source, target, ...languages }).map((found) => fileFinding(each, found)),
  );
  const grouped = translated
    .map(({ each, source, target }, at) => ({ each, unit_id: String(at), source, target }))
    .toSorted((left, right) => compareTexts(normalText(left.source), normalText(right.source)));
  for (const { unit_id: at, finding } of findInconsistentTargets(grouped)) {
    const found = translated[Number(at)];
    if (found !== undefined) findings.push(fileFinding(found.each, finding));
  }
  return findings.toSorted((left, right) => left.line - right.line);
}

function fileFinding(
  { line, unit }: FileUnit,
  { check, severity, message }: Pick<FileFinding, 'check' | 'severity' | 'message'>,
): FileFinding {
  return { line, unit_id: unit.unit_id, check, severity, message };
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
