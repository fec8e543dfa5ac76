import { canonicalLanguageTag, isLanguageTag } from '../../../domain/text/language-tag.ts';
import type { ReadPlace, UnitLanguages } from '../../../exchange/units/unit-record.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { printValue } from '../output/print-answer.ts';
import { countText } from '../../../domain/count-text.ts';
import { importUnits } from './import-units.ts';
import { readableUnits } from './import-plan.ts';
import { isProblem, OUTCOMES, type UnitOutcome } from './outcomes.ts';
import { inFileOrder, noticeLine, readUnitFile, type UnitFile } from './unit-file.ts';
import { unitLines, writeUnitReport } from './unit-report.ts';
import { checkTarget } from '../../../domain/text/checks/check-target.ts';
import { findInconsistentTargets } from '../../../domain/text/checks/find-inconsistent-targets.ts';
import { normalText } from '../../../domain/text/normal-text.ts';
import type { FileUnit } from './match-units.ts';

/** The languages of a file that names none, as the service has them by default. */
const DEFAULT_LANGUAGES: UnitLanguages = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };

const SPREADSHEET_VALUE = 'spreadsheet_value';
/** Checks that the daemon does not make of a single target. */
const OWN_CHECKS: ReadonlySet<string> = new Set(['inconsistent_target', SPREADSHEET_VALUE]);

/** Runs `translations check`. @throws CtlFailure */
export async function runCheck(context: CtlContext): Promise<CtlExit> {
  const { args, words } = context;
  const [path = ''] = words;
  const file = await readUnitFile(path, args);
  const { units, problems } = readableUnits(file.results);
  const local = checkUnits(units, languagesOf(context, file));
  const trial = { file, status: 'in_progress', isPartial: true, isTrial: true, fields: {} } as const;
  const isCompared = args.values.server === true;
  const outcomes = isCompared ? (await importUnits(context, trial)).outcomes : problems;
  const findings = inFileOrder(mergeFindings(local, outcomes), file);
  await writeUnitReport(context, findings);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const { results, notices } = file;
  const warnings = findings.length - errors;
  const summary = { file: path, units: results.length, notices, errors, warnings };
  const counts = `${countText(summary.units, 'unit')}, ${countText(errors, 'error')}, ${countText(summary.warnings, 'warning')}\n`;
  await printValue(
    context,
    { ...summary, findings },
    () => unitLines(context, path, findings.map(lineOf)) + notices.map(noticeLine).join('') + counts,
  );
  const isGood = errors === 0 && (args.values.strict !== true || findings.length === 0);
  return isGood ? CTL_EXITS.ok : CTL_EXITS.failed;
}

/** The findings of the daemon in place of those made here, where it has judged the target, and the problems of units. */
function mergeFindings(local: readonly FileFinding[], outcomes: readonly UnitOutcome[]): FileFinding[] {
  const nameOf = ({ sheet, line }: ReadPlace, id: string | null): string => JSON.stringify([sheet, line, id]);
  const judged = new Set(
    outcomes
      .filter(({ outcome }) => outcome.startsWith('ready') || outcome === 'unchanged_blocked')
      .map((each) => nameOf(each, each.file_unit_id)),
  );
  const kept = local.filter((each) => OWN_CHECKS.has(each.check) || !judged.has(nameOf(each, each.unit_id)));
  const found = outcomes.flatMap((each): FileFinding[] => {
    const { outcome, detail } = each;
    const shared = { ...placeOf(each), unit_id: each.file_unit_id };
    const problem = `${OUTCOMES[outcome].text}${detail === '' ? '' : `: ${detail}`}`;
    return isProblem(each.outcome)
      ? [{ ...shared, check: outcome, severity: 'error', message: problem }]
      : each.findings.map(({ check, severity, message }) => ({ ...shared, check, severity, message }));
  });
  return [...kept, ...found];
}

function lineOf(each: FileFinding): FileFinding & { text: string } {
  const { unit_id: id, check, severity, message } = each;
  return { ...each, text: `${severity}: ${check}: ${message} (${id ?? 'no id'})` };
}

function languagesOf({ args }: CtlContext, { languages }: UnitFile): UnitLanguages {
  const choose = (option: 'source-language' | 'target-language', name: keyof UnitLanguages): string => {
    const text = textOption(args, option) ?? languages[name] ?? DEFAULT_LANGUAGES[name];
    if (isLanguageTag(text)) return canonicalLanguageTag(text);
    throw new CtlFailure(CTL_EXITS.usage, `"${text}" is not a language tag such as ja; give --${option}`);
  };
  return {
    sourceLanguage: choose('source-language', 'sourceLanguage'),
    targetLanguage: choose('target-language', 'targetLanguage'),
  };
}

interface FileFinding extends ReadPlace {
  readonly unit_id: string | null;
  readonly check: string;
  readonly severity: string;
  readonly message: string;
}

/**
 * Checks the targets of a file against their sources, as the daemon does, without the limits of their fields and the Glossary, which
 * only the daemon knows. Targets of sources that differ only in line ends or composed characters are also compared here; the daemon
 * compares the targets of sources with the same bytes.
 *
 * @returns the findings, those about the agreement of targets last
 */
function checkUnits(units: readonly FileUnit[], languages: UnitLanguages): FileFinding[] {
  const translated = units.flatMap((each) => {
    const target = each.unit.target_text ?? '';
    return target === '' ? [] : [{ each, source: each.unit.source_text, target }];
  });
  const findings = translated.flatMap(({ each, source, target }) => [
    ...checkTarget({ source, target, ...languages }).map((found) => fileFinding(each, found)),
    ...spreadsheetFindings(each),
  ]);
  const grouped = translated
    .map(({ each, source, target }, at) => ({ each, unit_id: String(at), source, target }))
    .toSorted((left, right) => compareTexts(normalText(left.source), normalText(right.source)));
  for (const { unit_id: at, finding } of findInconsistentTargets(grouped)) {
    const found = translated[Number(at)];
    if (found !== undefined) findings.push(fileFinding(found.each, finding));
  }
  return findings;
}

function spreadsheetFindings(unit: FileUnit): FileFinding[] {
  const message = unit.table?.remark ?? null;
  if (message === null) return [];
  return [fileFinding(unit, { check: SPREADSHEET_VALUE, severity: 'warning', message })];
}

function fileFinding(
  unit: FileUnit,
  { check, severity, message }: Omit<FileFinding, 'line' | 'sheet' | 'unit_id'>,
): FileFinding {
  return { ...placeOf(unit), unit_id: unit.unit.unit_id, check, severity, message };
}

function placeOf({ line, sheet }: ReadPlace): ReadPlace {
  return { line, ...(sheet === undefined ? {} : { sheet }) };
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
