import type { UnitDiagnosis } from '../../glossary/glossary-diagnosis.ts';
import type { Finding } from '../work/store/target-rows.ts';

/** Findings of one code on one target. */
const MAX_FINDINGS = 20;
/** Codes whose place is in the translation. */
const IN_TARGET: ReadonlySet<string> = new Set(['forbidden_translation', 'untranslated_term_left']);

/** The findings of a diagnosis, at most 20 of each code. A `glossary_override` accepts them, and a waiver does not. */
export function glossaryFindings({ diagnostics }: Pick<UnitDiagnosis, 'diagnostics'>): Finding[] {
  const counts = new Map<string, number>();
  const findings: Finding[] = [];
  for (const { code, severity, span, message } of diagnostics) {
    const count = (counts.get(code) ?? 0) + 1;
    counts.set(code, count);
    if (count > MAX_FINDINGS) continue;
    const isInTarget = IN_TARGET.has(code);
    findings.push({
      check: code,
      origin: 'glossary',
      severity,
      message,
      waivable: false,
      source_span: isInTarget ? null : span,
      target_span: isInTarget ? span : null,
    });
  }
  return findings;
}
