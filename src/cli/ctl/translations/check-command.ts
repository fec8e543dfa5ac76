import { canonicalLanguageTag, isLanguageTag } from '../../../domain/text/language-tag.ts';
import type { UnitLanguages } from '../../../exchange/units/unit-record.ts';
import type { CtlContext } from '../ctl-context.ts';
import { CTL_EXITS, CtlFailure, type CtlExit } from '../ctl-exits.ts';
import { textOption } from '../ctl-options.ts';
import { isDataFormat } from '../output/output-format.ts';
import { printValue } from '../output/print-answer.ts';
import { countText } from '../../../domain/count-text.ts';
import { checkUnits, type FileFinding } from './check-units.ts';
import { importWithProgress } from './import-command.ts';
import { readableUnits } from './import-plan.ts';
import { isProblem, OUTCOMES, type UnitOutcome } from './outcomes.ts';
import { readUnitFile, type UnitFile } from './unit-file.ts';
import { showUnitLines, writeUnitReport } from './unit-report.ts';

/** The languages of a file that names none, as the service has them by default. */
const DEFAULT_LANGUAGES: UnitLanguages = { sourceLanguage: 'ja', targetLanguage: 'zh-Hans' };

/** Runs `translations check`. @throws CtlFailure */
export async function runCheck(context: CtlContext): Promise<CtlExit> {
  const { args, words, stdout } = context;
  const [path = ''] = words;
  const file = await readUnitFile(path, args);
  const { units, problems } = readableUnits(file.results);
  const local = checkUnits(units, languagesOf(context, file));
  const outcomes = args.values.server === true ? await compare(context, file) : problems;
  const findings = mergeFindings(local, outcomes);
  await writeUnitReport(context, findings);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const summary = { file: path, units: file.results.length, errors, warnings: findings.length - errors };
  if (isDataFormat(context.output)) await printValue(context, { ...summary, findings });
  else {
    showUnitLines(context, path, findings.map(lineOf));
    stdout.write(
      `${countText(summary.units, 'unit')}, ${countText(errors, 'error')}, ${countText(summary.warnings, 'warning')}\n`,
    );
  }
  const isGood = errors === 0 && (args.values.strict !== true || findings.length === 0);
  return isGood ? CTL_EXITS.ok : CTL_EXITS.failed;
}

/** Compares a file with the service: its units, their sources, and what the daemon finds in their targets. */
async function compare(context: CtlContext, file: UnitFile): Promise<readonly UnitOutcome[]> {
  const { outcomes } = await importWithProgress(context, {
    file,
    status: 'in_progress',
    isPartial: true,
    isTrial: true,
    fields: {},
  });
  return outcomes;
}

/** The findings of the daemon in place of those made here, where it has judged the target, and the problems of units. */
function mergeFindings(local: readonly FileFinding[], outcomes: readonly UnitOutcome[]): FileFinding[] {
  const nameOf = (line: number, id: string | null): string => `${line} ${id}`;
  const judged = new Set(
    outcomes
      .filter(({ outcome }) => outcome.startsWith('ready') || outcome === 'unchanged_blocked')
      .map(({ line, file_unit_id: id }) => nameOf(line, id)),
  );
  const kept = local.filter(
    ({ check, line, unit_id: id }) => check === 'inconsistent_target' || !judged.has(nameOf(line, id)),
  );
  const found = outcomes.flatMap((each): FileFinding[] => {
    const { line, outcome, detail } = each;
    const shared = { line, unit_id: each.file_unit_id };
    const problem = `${OUTCOMES[outcome].text}${detail === '' ? '' : `: ${detail}`}`;
    return isProblem(each)
      ? [{ ...shared, check: outcome, severity: 'error', message: problem }]
      : each.findings.map(({ check, severity, message }) => ({ ...shared, check, severity, message }));
  });
  return [...kept, ...found].toSorted((left, right) => left.line - right.line);
}

function lineOf({ line, unit_id: id, check, severity, message }: FileFinding): {
  line: number;
  text: string;
} {
  return { line, text: `${severity}: ${check}: ${message} (${id ?? 'no id'})` };
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
